"""A policy's CEL as an API server would run it on one object, and objects of which little is wrong."""

from __future__ import annotations

from functools import cache
from typing import Any

import cel
from hypothesis import strategies as st

from rayfleet.api.policies import SPEC_CHECKS, SPEC_VARIABLES, Check

TEMPLATES = [
    {"spec": {"containers": [{"name": "ray", "image": "ray"}]}},
    {"spec": {"containers": [{"name": "ray", "env": [{"name": "RAY_enable_autoscaler_v2", "value": "1"}]}], "restartPolicy": "Never"}},
    {"spec": {"containers": [{"name": "ray", "env": [{"name": "RAY_enable_autoscaler_v2", "value": "0"}]}], "restartPolicy": "Always"}},
    {"spec": {"containers": []}},
]


def mostly(good: Any, *others: Any) -> st.SearchStrategy[Any]:
    """The good value half of the time: an object on which everything is wrong proves nothing."""
    return st.just(good) | st.sampled_from(others)


COUNTS = mostly(1, -1, 0, 2, 2**31 - 1)
TEXTS = {
    "rayStartParams": mostly({}, {"num-cpus": "1"}, {"memory": ""}, {"labels": "a=b"}, {"redis-password": "x"}, {"redis-username": "x"}),
    "resources": mostly({}, {"CPU": "1"}),
    "labels": mostly({}, {"a": "b"}, {"x.io/a": "b"}, {"a": ""}, {"a": "-"}, {"UPPER/a": "b"}, {"a/b/c": "d"}, {"x" * 63: "y" * 63}),
}
GROUP = st.fixed_dictionaries(
    {"groupName": st.sampled_from(["a", "b", "c", "D.e", "", "a_b", "-a", "x" * 63, "x" * 64]), "template": mostly(*TEMPLATES)},
    optional={
        **TEXTS,
        **dict.fromkeys(("replicas", "minReplicas", "numOfHosts"), COUNTS),
        "maxReplicas": mostly(5, -1, 0),
        "idleTimeoutSeconds": mostly(60, -1, 0),
        "priority": mostly(0, 1),
        "suspend": mostly(False, True),
    },
)
HEAD = st.fixed_dictionaries(
    {"template": mostly(*TEMPLATES)}, optional={**TEXTS, "serviceType": mostly("ClusterIP", "", "NodePort", "Sideways")}
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "version": mostly("v2", "v1"),
        "idleTimeoutSeconds": mostly(60, -1),
        "env": mostly([], [{"name": "A"}], [{"name": "KUBERAY_GEN_AUTOSCALER_START_CMD"}]),
    },
)
KEEPER = mostly({}, {"storage": {}}, {"backend": "rocksdb", "storage": {}}, {"backend": "redis", "redisAddress": "r"})
SPEC = st.fixed_dictionaries(
    {"rayVersion": st.just("2.60.0"), "headGroupSpec": HEAD, "workerGroupSpecs": st.lists(GROUP, max_size=3)},
    optional={
        "enableInTreeAutoscaling": st.booleans(),
        "autoscalerOptions": OPTIONS,
        "gcsFaultToleranceOptions": KEEPER,
        "upgradeStrategy": mostly({}, {"type": "None"}, {"type": "Recreate"}),
    },
)
MARKS = {
    "labels": mostly({}, {"ray.io/originated-from-crd": "RayJob"}, {"ray.io/originated-from-crd": "RayCluster"}),
    "annotations": mostly({}, {"ray.io/ft-enabled": "true"}, {"ray.io/ft-enabled": ""}, {"ray.io/external-storage-namespace": "n"}),
}


def nearly_good() -> st.SearchStrategy[dict[str, Any]]:
    """RayClusters of which much is as it should be."""
    names = mostly("demo", "a" * 53, "a" * 54, "Demo", "1a", "a-", "a.b")
    return st.fixed_dictionaries({"metadata": st.fixed_dictionaries({"name": names}, optional=MARKS), "spec": SPEC})


@cache
def program(expression: str) -> Any:
    return cel.compile(expression)


def refusals(document: dict[str, Any]) -> list[Check]:
    """The checks that an object does not pass; one that cannot be run counts as not passed (`failurePolicy: Fail`)."""
    names: dict[str, Any] = {"object": document, "variables": {}}
    for variable in SPEC_VARIABLES:
        try:
            names["variables"][variable.name] = program(variable.expression).execute(names)
        except Exception:  # as on an API server: whoever uses the variable fails
            continue
    return [check for check in SPEC_CHECKS if not passes(check, names)]


def passes(check: Check, names: dict[str, Any]) -> bool:
    try:
        return program(check.expression).execute(names) is True
    except Exception:
        return False
