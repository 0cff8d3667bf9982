from __future__ import annotations

import gc
from collections.abc import Iterator

import msgspec
import pytest

from rayfleet.runtime.collection import paused
from rayfleet.runtime.compact import shrinker


class Container(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    image: str = ""
    env: msgspec.Raw = msgspec.Raw()


class Meta(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""
    zone: str | None = None
    labels: dict[str, str] | None = None


class Item(msgspec.Struct, frozen=True, gc=False):
    meta: Meta
    containers: tuple[Container, ...] = ()
    count: int = 0


def decoded() -> Item:
    text = b'{"meta":{"uid":"u-1","zone":"zone-a","labels":{"app":"value-1"}},"containers":[{"image":"image:1","env":[{"a":1}]}],"count":3}'
    item = msgspec.json.decode(text, type=Item)
    shrink = shrinker(Item)
    assert shrink is not None
    return shrink(item)


def test_equal_strings_are_one_and_nothing_else_changes() -> None:
    one, two = decoded(), decoded()
    assert one == two and one.count == 3
    assert one.meta.zone is two.meta.zone and one.containers[0].image is two.containers[0].image
    assert one.meta.labels and two.meta.labels and one.meta.labels["app"] is two.meta.labels["app"]
    assert one.meta.uid is not two.meta.uid
    assert bytes(one.containers[0].env) == b'[{"a":1}]'


def test_there_may_be_nothing_to_gain() -> None:
    class Number(msgspec.Struct):
        value: int = 0

    assert shrinker(Number) is None and shrinker(int | None) is None and shrinker(int | str) is None


@pytest.fixture
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("unfrozen")
def test_the_collector_rests_while_caches_fill_and_is_back_afterwards() -> None:
    with paused():
        assert not gc.isenabled()
        with paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() > 0
    gc.unfreeze()
    with pytest.raises(ValueError, match="broken"), paused():
        raise ValueError("broken")
    assert gc.isenabled() and gc.get_freeze_count() == 0
    gc.disable()
    with paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
