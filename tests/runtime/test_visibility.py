from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rayfleet.api.meta import Key, ObjectMeta
from rayfleet.runtime.visibility import PATIENCE, Visibility
from tests.runtime.clocks import ManualClock
from tests.runtime.nouns import Pod

OWNER, OTHER, CHILD = Key("x", "owner"), Key("x", "other"), Key("x", "child")


class Copy:
    """An informer whose news the test brings."""

    def __init__(self, clock: ManualClock, version: str = "100") -> None:
        self.clock = clock
        self.resource_version = version
        self.listed_at = float("-inf")
        self.relists = 0
        self.objects: dict[Key, Pod] = {}
        self.handlers: list[Callable[[Any, Any], None]] = []
        self.progress: list[Callable[[], None]] = []

    def get(self, namespace: str, name: str) -> Pod | None:
        return self.objects.get(Key(namespace, name))

    def relist(self) -> None:
        self.relists += 1

    def subscribe(self, handler: Callable[[Any, Any], None]) -> None:
        self.handlers.append(handler)

    def on_progress(self, handler: Callable[[], None]) -> None:
        self.progress.append(handler)

    def reach(self, version: str) -> None:
        self.resource_version = version
        for handler in self.progress:
            handler()

    def list(self, version: str) -> None:
        self.listed_at = self.clock.monotonic()
        self.reach(version)

    def show(self, uid: str = "u1", deletion: str | None = None, gone: bool = False) -> None:
        old = self.objects.get(CHILD)
        new = None if gone else Pod(ObjectMeta(name="child", namespace="x", uid=uid, deletion_timestamp=deletion))
        if new:
            self.objects[CHILD] = new
        else:
            self.objects.pop(CHILD, None)
        for handler in self.handlers:
            handler(old, new)


def world() -> tuple[ManualClock, Copy, list[Key], Visibility]:
    clock = ManualClock()
    ready: list[Key] = []
    return clock, Copy(clock), ready, Visibility(ready.append, clock)


def test_a_key_waits_until_the_version_that_its_write_returned() -> None:
    _, copy, ready, sight = world()
    sight.wrote(OWNER, copy, "105")
    sight.wrote(OWNER, copy, "103")
    assert sight.blocks(OWNER) and not sight.blocks(OTHER)
    copy.reach("104")
    assert sight.blocks(OWNER) and not ready
    copy.reach("110")
    assert not sight.blocks(OWNER) and ready == [OWNER]


def test_a_key_that_did_not_ask_is_not_called() -> None:
    _, copy, ready, sight = world()
    sight.wrote(OWNER, copy, "105")
    copy.reach("105")
    assert not sight.blocks(OWNER) and not ready


def test_what_is_visible_already_is_not_waited_for() -> None:
    clock, copy, _, sight = world()
    sight.wrote(OWNER, copy, "100")
    sight.deleted(OWNER, copy, CHILD, "u1")
    assert not sight.blocks(OWNER) and clock.waiting == []


def test_every_cache_must_show_its_own_write() -> None:
    clock, copy, ready, sight = world()
    second = Copy(clock)
    sight.wrote(OWNER, copy, "105")
    sight.wrote(OWNER, second, "106")
    assert sight.blocks(OWNER)
    copy.reach("200")
    assert sight.blocks(OWNER)
    second.reach("106")
    assert ready == [OWNER]


def test_a_delete_is_seen_when_the_object_goes_or_is_going_or_is_another() -> None:
    for news in ({"deletion": "2026-01-01T00:00:00Z"}, {"gone": True}):
        _, copy, ready, sight = world()
        copy.show()
        sight.deleted(OWNER, copy, CHILD, "u1")
        assert sight.blocks(OWNER)
        copy.reach("999")
        assert sight.blocks(OWNER)
        copy.show(**news)
        assert ready == [OWNER]
    _, copy, _, sight = world()
    copy.show(uid="u2")
    sight.deleted(OWNER, copy, CHILD, "u1")
    assert not sight.blocks(OWNER)


async def test_a_cache_that_stays_behind_is_listed_again_and_never_believed() -> None:
    clock, copy, ready, sight = world()
    copy.show()
    sight.wrote(OWNER, copy, "105")
    sight.deleted(OTHER, copy, CHILD, "u1")
    assert sight.blocks(OWNER) and sight.blocks(OTHER)
    await clock.advance(PATIENCE - 1)
    assert copy.relists == 0
    await clock.advance(2 * PATIENCE)
    assert copy.relists >= 2 and not ready
    copy.list("50")  # also when the server was restored from a backup: what it lists now is the truth
    assert sorted(ready) == [OTHER, OWNER]
    await clock.advance(2 * PATIENCE)
    assert clock.waiting == []


def test_a_list_that_was_begun_before_the_write_proves_nothing() -> None:
    clock, copy, ready, sight = world()
    copy.listed_at = clock.monotonic() - 1
    sight.wrote(OWNER, copy, "105")
    assert sight.blocks(OWNER)
    copy.reach("104")
    assert not ready


def test_versions_that_are_no_numbers_need_a_list() -> None:
    _, copy, ready, sight = world()
    sight.wrote(OWNER, copy, "abc")
    assert sight.blocks(OWNER) and copy.relists == 1
    copy.list("abd")
    assert ready == [OWNER]
