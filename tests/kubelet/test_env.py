"""A container's environment."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.kubelet.env import ConfigError, Facts, environment, expand, sources_of

FACTS = Facts(
    metadata={"name": "p", "namespace": "n", "uid": "u", "labels": {"ray.io/group": "small"}, "annotations": {"note": "x"}},
    spec={"nodeName": "local", "containers": [{"name": "other", "resources": {"limits": {"cpu": "3"}}}]},
    pod_ip="10.88.0.2",
    host_ip="10.88.0.1",
    allocatable={"cpu": "8", "memory": "16Gi"},
    sources={("secret", "s"): {"k": "v", "bad-name!": "z"}, ("configmap", "c"): {"k": "w"}, ("secret", "gone"): None},
)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [("$(A)-$(B)", "1-$(B)"), ("$$(A)", "$(A)"), ("$A", "$A"), ("$(A", "$(A"), ("a$$b", "a$b"), ("", "")],
)
def test_references_are_expanded_and_unknown_ones_stay(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


def value_of(origin: dict[str, Any], **container: Any) -> str | None:
    return environment({"env": [{"name": "X", "valueFrom": origin}], **container}, {}, FACTS).get("X")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "n"),
        ("metadata.uid", "u"),
        ("metadata.labels['ray.io/group']", "small"),
        ("metadata.labels['absent']", ""),
        ("metadata.annotations['note']", "x"),
        ("spec.nodeName", "local"),
        ("spec.serviceAccountName", "default"),
        ("status.podIP", "10.88.0.2"),
        ("status.hostIP", "10.88.0.1"),
    ],
)
def test_fields_of_the_pod(path: str, value: str) -> None:
    assert value_of({"fieldRef": {"fieldPath": path}}) == value


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "1536"),
        ({"resource": "requests.cpu"}, "1"),
        ({"resource": "limits.cpu", "containerName": "other"}, "3"),
        ({"resource": "limits.memory", "containerName": "other", "divisor": "1Gi"}, "16"),
        ({"resource": "requests.memory"}, "0"),
    ],
)
def test_resources_are_rounded_up_and_fall_back_to_the_node(reference: dict[str, str], value: str) -> None:
    resources = {"limits": {"cpu": "1500m", "memory": "1.5Gi"}, "requests": {"cpu": "100m"}}
    assert value_of({"resourceFieldRef": reference}, resources=resources) == value


def test_later_variables_see_earlier_ones_and_env_overrides_env_from() -> None:
    container = {
        "envFrom": [{"secretRef": {"name": "s"}, "prefix": "P_"}, {"configMapRef": {"name": "c"}}],
        "env": [{"name": "k", "value": "own"}, {"name": "both", "value": "$(k)/$(P_k)/$(BASE)"}, {"name": "empty"}],
    }
    assert environment(container, {"BASE": "b"}, FACTS) == {"BASE": "b", "P_k": "v", "k": "own", "both": "own/v/b", "empty": ""}


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({"secretKeyRef": {"name": "gone", "key": "k"}}, 'secret "gone" not found'),
        ({"configMapKeyRef": {"name": "nowhere", "key": "k"}}, 'configmap "nowhere" not found'),
        ({"secretKeyRef": {"name": "s", "key": "absent"}}, "couldn't find key absent in secret n/s"),
        ({"fieldRef": {"fieldPath": "spec.absent"}}, "fieldPath spec.absent is not supported"),
    ],
)
def test_what_is_missing_is_named(origin: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        value_of(origin)


def test_what_is_missing_and_optional_is_left_out() -> None:
    assert value_of({"secretKeyRef": {"name": "gone", "key": "k", "optional": True}}) is None
    assert environment({"envFrom": [{"secretRef": {"name": "gone", "optional": True}}]}, {}, FACTS) == {}


def test_the_objects_referred_to_are_listed_once() -> None:
    container = {
        "envFrom": [{"configMapRef": {"name": "c"}}],
        "env": [{"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": name}}} for name in "xy"],
    }
    assert sources_of(container) == [("configmap", "c"), ("secret", "s")]
