"""One store, one cluster: who comes second gets no head, and removes nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.raycluster import RayCluster
from rayfleet.planning.actions import Create, RemoveFinalizer
from rayfleet.planning.clock import rfc3339
from rayfleet.raycluster.plan import plan
from rayfleet.raycluster.rivals import Rival, may_have, rival_of
from tests.raycluster.vocabulary import NOW, UID, cluster, created, head, observed, template

GATE = Configuration(feature_gates={"GCSFaultToleranceEmbeddedStorage": True})
OLD = "2026-01-01T00:00:00Z"
NEW = "2026-01-02T00:00:00Z"


def named(name: str, born: str = NEW, namespace: str = "default", annotations: dict[str, str] | None = None, **options: Any) -> RayCluster:
    of = cluster(annotations=annotations, gcsFaultToleranceOptions=options) if options else cluster(annotations=annotations)
    meta = msgspec.structs.replace(of.metadata, name=name, uid=f"uid-{name}", namespace=namespace, creation_timestamp=born)
    return msgspec.structs.replace(of, metadata=meta)


def redis(name: str, where: str = "", address: str = "redis:6379", **more: Any) -> RayCluster:
    return named(name, redisAddress=address, externalStorageNamespace=where, **more)


def stored(name: str, **more: Any) -> RayCluster:
    storage = {key: more.pop(key) for key in ("claimName", "subPath") if key in more}
    return named(name, backend="rocksdb", storage=storage, **more)


def rival(of: RayCluster, *others: RayCluster, heads: tuple[str, ...] = ()) -> str:
    found = rival_of(of, others, lambda uid: uid in heads)
    return found.name if found else ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (redis("a", "prod"), redis("b", "prod", born=OLD)),
        (redis("a", "prod", address="redis://redis:6379,other:1"), redis("b", "prod", born=OLD)),
        (redis("a", "uid-b"), redis("b", born=OLD)),
        (redis("a", "uid-b", address="elsewhere:1", namespace="mine"), redis("b", born=OLD)),
        (redis("a", "prod", address="redis.db:1", namespace="mine"), redis("b", "prod", address="redis.db:1", born=OLD)),
        (stored("a", claimName="c"), stored("b", claimName="c", born=OLD)),
        (stored("a", claimName="c", subPath="x/"), stored("b", claimName="c", subPath="x", born=OLD)),
        (stored("a", claimName="b-gcs-pvc"), stored("b", born=OLD)),
    ],
    ids=["keys", "address", "uid", "uid of another namespace", "another namespace", "claim", "directory", "claim of another"],
)
def test_the_older_one_has_the_store(one: RayCluster, other: RayCluster) -> None:
    assert may_have(one)
    assert rival(one, one, other) == "b"
    assert rival(other, one, other) == ""
    if may_have(other):
        assert rival(other, one, heads=("uid-a",)) == "a", "unless the younger one has a head already"


def test_the_old_style_counts_as_well() -> None:
    notes = {labels.FT_ENABLED: "true", labels.STORAGE_NAMESPACE: "prod"}
    env = template(env=[{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}])
    of = cluster(annotations=notes, headGroupSpec={"rayStartParams": {}, "template": env})
    assert rival(of, redis("b", "prod"), heads=("uid-b",)) == "b"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (redis("a", "prod"), redis("b", "test", born=OLD)),
        (redis("a", "prod"), redis("b", "prod", address="other:6379", born=OLD)),
        (redis("a", "prod", namespace="mine"), redis("b", "prod", born=OLD)),
        (stored("a", claimName="c", subPath="x"), stored("b", claimName="c", subPath="y", born=OLD)),
        (stored("a", claimName="c", namespace="mine"), stored("b", claimName="c", born=OLD)),
        (stored("a"), redis("b", born=OLD)),
        (redis("a", "prod"), named("b", born=OLD)),
    ],
)
def test_other_places_are_no_concern(one: RayCluster, other: RayCluster) -> None:
    assert rival(one, other, heads=("uid-b",)) == ""


def test_below_its_own_uid_nobody_need_be_looked_for() -> None:
    assert not may_have(redis("a"))
    assert not may_have(named("a"))


def test_who_waits_has_no_head_and_says_why_and_looks_again() -> None:
    made = plan(observed(cluster(gcsFaultToleranceOptions={"redisAddress": "r", "externalStorageNamespace": "x"}), rival=Rival("b", True)))
    assert not any(name.startswith("demo-head-") for name in created(made))
    assert made.requeue_after == 30
    assert made.status is not None
    (failure,) = [each for each in made.status.patch["conditions"] if each["type"] == "ReplicaFailure"]
    assert (failure["reason"], "RayCluster b keeps its state" in failure["message"]) == ("StoreInUse", True)


def test_a_head_that_is_there_is_left_alone() -> None:
    made = plan(observed(cluster(gcsFaultToleranceOptions={"redisAddress": "r"}), head(), rival=Rival("b", False)))
    assert not any(isinstance(action, Create) and action.name.startswith("demo-head") for action in made.actions)
    assert not made.status or "StoreInUse" not in made.status.reason


def test_the_deletion_of_who_shares_a_store_removes_nothing() -> None:
    of = cluster(gcsFaultToleranceOptions={"redisAddress": "r", "externalStorageNamespace": "x"})
    gone = {"finalizers": (labels.REDIS_FINALIZER,), "deletion_timestamp": rfc3339(NOW - 1), "uid": UID}
    deleted = msgspec.structs.replace(of, metadata=msgspec.structs.replace(of.metadata, **gone))
    (action,) = plan(observed(deleted, rival=Rival("secret-name", False))).actions
    assert isinstance(action, RemoveFinalizer)
    assert (action.event, action.warns) == ("RedisCleanupSkipped", True)
    assert "secret-name" not in action.reason, "the names of other namespaces are not told"
