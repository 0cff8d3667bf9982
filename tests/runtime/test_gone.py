from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.meta import ObjectMeta, OwnerReference
from rayfleet.runtime.gone import LATEST_OWNER, Gone, Made
from rayfleet.runtime.wire import Stub
from tests.runtime.clocks import ManualClock


class Copy:
    """An informer's copy, as far as it is asked."""

    def __init__(self) -> None:
        self.resource_version = "1"
        self.listed_at = 0.0
        self.names: set[str] = set()

    def get(self, namespace: str, name: str) -> Any:
        return name if name in self.names else None

    def relist(self) -> None:
        raise NotImplementedError

    subscribe = on_progress = relist  # type: ignore[assignment]


def child(name: str) -> Stub:
    owner = OwnerReference("v1", "Owner", "o", "uid", controller=True)
    return Stub(ObjectMeta(name=name, namespace="n", owner_references=(owner,)))


def test_a_child_that_was_seen_to_vanish_is_gone_until_its_owner_is() -> None:
    gone = Gone()
    gone.heard(None, child("a"))
    assert gone.of("uid") == set()
    gone.heard(child("a"), None)
    assert gone.of("uid") == {"a"} and gone.of("other") == set()
    gone.forget("uid")
    assert gone.of("uid") == set()


def test_a_child_that_went_before_its_owner_was_known_is_gone_for_its_owner() -> None:
    clock = ManualClock()
    gone = Gone(clock)
    gone.heard_early(child("a"), None)
    gone.heard(child("b"), None)
    assert gone.of("uid") == {"a", "b"}


def test_children_of_owners_that_never_come_are_forgotten_after_a_while() -> None:
    clock = ManualClock()
    gone = Gone(clock)
    gone.heard_early(child("a"), None)
    clock.now += LATEST_OWNER + 1
    gone.heard_early(None, child("b"))
    assert gone.of("uid") == set()


def test_a_child_that_went_before_the_copy_ever_showed_it_is_gone_once_the_copy_is_late_enough() -> None:
    gone, copy = Gone(), Copy()
    gone.made("uid", [Made(copy, "n", "a", "5")])
    assert gone.of("uid") == set(), "the copy may still show it"
    copy.resource_version = "5"
    assert gone.of("uid") == {"a"}


@pytest.mark.parametrize("told", [True, False], ids=["by an event", "by a list"])
def test_a_child_that_the_copy_shows_is_not_gone(told: bool) -> None:
    gone, copy = Gone(), Copy()
    gone.made("uid", [Made(copy, "n", "a", "5")])
    copy.names.add("a")
    copy.resource_version = "7"
    if told:
        gone.heard(None, child("a"))
    assert gone.of("uid") == set()
