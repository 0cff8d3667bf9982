"""What tells Ray where to keep the GCS' state."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.names import Slot
from rayfleet.resources.gcs_claim import claim
from rayfleet.resources.pod import head_pod, worker_pod
from tests.raycluster.vocabulary import UID, cluster, group, template

CONFIG = Configuration()
OLD = {labels.FT_ENABLED: "True"}


def head_of(annotations: dict[str, str] | None = None, head: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    spec = {"gcsFaultToleranceOptions": options} if options else {}
    given = {"rayStartParams": {}, "template": template(), **(head or {})}
    return head_pod(cluster(annotations=annotations, headGroupSpec=given, **spec), "demo-head", CONFIG)


def env_of(pod: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in pod["spec"]["containers"][0]["env"]}


def test_user_name_and_password_stand_in_the_environment_and_the_command_names_them_only() -> None:
    secret = {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "pw"}}}
    pod = head_of(redisAddress="redis:6379", redisUsername={"value": "ray"}, redisPassword=secret)
    assert (env_of(pod)["REDIS_USERNAME"], env_of(pod)["REDIS_PASSWORD"]) == ("ray", secret["valueFrom"])
    (line,) = pod["spec"]["containers"][0]["args"]
    assert '--redis-password="$REDIS_PASSWORD"' in line
    assert '--redis-username="$REDIS_USERNAME"' in line


@pytest.mark.parametrize("field", ["redisUsername", "redisPassword"])
def test_a_credential_is_taken_as_it_is_or_from_a_secret(field: str) -> None:
    name = {"redisUsername": "REDIS_USERNAME", "redisPassword": "REDIS_PASSWORD"}[field]
    source = {"secretKeyRef": {"name": "redis", "key": "k"}}
    for given, seen in (({"value": "plain"}, {"value": "plain"}), ({"valueFrom": source}, {"valueFrom": source})):
        env = head_of(redisAddress="redis:6379", **{field: given})["spec"]["containers"][0]["env"]
        assert [variable for variable in env if variable["name"] == name] == [{"name": name, **seen}]


def test_several_addresses_with_a_scheme_reach_ray_as_they_are() -> None:
    assert env_of(head_of(redisAddress="rediss://a:1,b:2"))["RAY_REDIS_ADDRESS"] == "rediss://a:1,b:2"


@pytest.mark.parametrize(
    ("annotations", "options", "namespace"),
    [
        (OLD, {}, UID),
        ({**OLD, labels.STORAGE_NAMESPACE: "mine"}, {}, "mine"),
        ({}, {"redisAddress": "r"}, UID),
        ({}, {"redisAddress": "r", "externalStorageNamespace": "mine"}, "mine"),
    ],
)
def test_keys_lie_below_the_uid_unless_the_user_says_where(annotations: dict[str, str], options: Any, namespace: str) -> None:
    pod = head_of(annotations, **options)
    assert env_of(pod)["RAY_external_storage_namespace"] == namespace
    assert pod["metadata"]["annotations"][labels.STORAGE_NAMESPACE] == namespace
    assert pod["metadata"]["annotations"][labels.FT_ENABLED] == "true"


def test_a_namespace_without_fault_tolerance_says_nothing() -> None:
    pod = head_of({labels.STORAGE_NAMESPACE: "mine"})
    assert "RAY_external_storage_namespace" not in env_of(pod)
    assert pod["metadata"]["annotations"][labels.FT_ENABLED] == "false"


@pytest.mark.parametrize(("given", "seen"), [("pw", "pw"), ("$PW", "$(PW)"), ("${PW}", "$(PW)"), ("a$PW", "a$PW")])
def test_a_password_of_the_old_style_is_also_in_the_environment(given: str, seen: str) -> None:
    pod = head_of(OLD, head={"rayStartParams": {"redis-password": given}})
    assert env_of(pod)["REDIS_PASSWORD"] == seen


def test_a_users_own_variable_wins() -> None:
    pod = head_of(OLD, head={"template": template(env=[{"name": "RAY_external_storage_namespace", "value": "own"}])})
    assert env_of(pod)["RAY_external_storage_namespace"] == "own"


@pytest.mark.parametrize(
    ("annotations", "spec", "seconds"),
    [
        ({}, {}, None),
        (OLD, {}, "600"),
        ({}, {"gcsFaultToleranceOptions": {"redisAddress": "r"}}, "600"),
        ({}, {"gcsFaultToleranceOptions": {"backend": "rocksdb"}}, "600"),
    ],
    ids=["none", "annotation", "redis", "rocksdb"],
)
def test_workers_wait_for_the_next_head(annotations: dict[str, str], spec: Any, seconds: str | None) -> None:
    of = cluster(group(), annotations=annotations, **spec)
    pod = worker_pod(of, of.spec.worker_group_specs[0], Slot(0, 0), 0, "w", CONFIG)
    assert env_of(pod).get("RAY_gcs_rpc_server_reconnect_timeout_s") == seconds


def test_a_claim_is_made_with_the_access_that_is_asked_for() -> None:
    of = cluster(gcsFaultToleranceOptions={"backend": "rocksdb", "storage": {"accessModes": ["ReadWriteOncePod"]}})
    assert claim(of)["spec"]["accessModes"] == ["ReadWriteOncePod"]
