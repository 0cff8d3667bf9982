"""Names as fences."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rayfleet.api.names import Slot, head_stem, slot_names, worker_stem

GROUPS = st.from_regex(r"[a-z]([a-z0-9-]{0,60}[a-z0-9])?", fullmatch=True)
CLUSTERS = st.from_regex(r"[a-z]([a-z0-9-]{0,51}[a-z0-9])?", fullmatch=True)


@given(CLUSTERS, GROUPS, st.integers(0, 1000), st.integers(1, 4))
def test_every_slot_has_a_name_of_its_own_that_a_pod_may_have(cluster: str, group: str, lives: int, hosts: int) -> None:
    names = slot_names(worker_stem(cluster, group), "uid", group, lives, 5, hosts)
    assert len(set(names.values())) == 5 * hosts
    for name in (*names.values(), head_stem(cluster) + "bcdfg"):
        assert len(name) <= 63
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)


def test_a_slots_name_does_not_depend_on_how_many_slots_are_asked_for() -> None:
    few = slot_names("demo-small-worker-", "uid", "small", 3, 10, 1)
    many = slot_names("demo-small-worker-", "uid", "small", 3, 5000, 1)
    assert all(many[slot] == name for slot, name in few.items())
    assert len(set(many.values())) == 5000, "five characters collide among thousands; the later slot gives way"


def test_another_life_another_uid_another_group_means_another_name() -> None:
    def name(uid: str = "u", group: str = "g", lives: int = 0) -> str:
        return slot_names("stem-", uid, group, lives, 1, 1)[Slot(0, 0)]

    assert len({name(), name(uid="v"), name(group="h"), name(lives=1)}) == 4
