"""What is deleted is deleted for the newest copy of its owner."""

from __future__ import annotations

from rayfleet.api.meta import PODS, RAYSERVICES, ObjectMeta
from rayfleet.planning.actions import Delete, Fence, Patch, Subject
from rayfleet.planning.newest import SCOPE, asked_first, newest

OWNER = ObjectMeta(name="shop", namespace="x", uid="u", resource_version="7")
NOUN = Subject("Pod", "Pods")
GOES = Delete(PODS, "x", "a", "u1", "pods", "why", NOUN, "", "")
CHANGES = Patch(PODS, "x", "b", "u2", {}, "pods", "why", NOUN, "", "")


def free(scope: str) -> float:
    return 0.0


def test_before_a_delete_the_api_is_asked_for_the_owner_s_version() -> None:
    first, *rest = asked_first(RAYSERVICES, OWNER, [CHANGES, GOES], free)
    assert isinstance(first, Fence) and (first.name, first.resource_version, dict(first.annotations)) == ("shop", "7", {})
    assert rest == [CHANGES, GOES]


def test_where_nothing_goes_or_a_fence_is_there_nobody_is_asked_more() -> None:
    own = newest(RAYSERVICES, OWNER, "clusters", "why")
    assert asked_first(RAYSERVICES, OWNER, [CHANGES], free) == [CHANGES]
    assert asked_first(RAYSERVICES, OWNER, [own, GOES], free) == [own, GOES]


def test_while_the_api_does_not_say_nothing_is_deleted_and_the_rest_goes_on() -> None:
    assert asked_first(RAYSERVICES, OWNER, [CHANGES, GOES], lambda scope: 5.0 if scope == SCOPE else 0.0) == [CHANGES]
