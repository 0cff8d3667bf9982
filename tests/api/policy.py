"""A policy's CEL as an API server would run it on one object, and objects of which little is wrong."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from rayfleet.api.policies import SPEC_POLICIES, SpecPolicy
from rayfleet.api.policies.form import Check
from rayfleet.apiserver.cel.program import Program

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
def program(expression: str) -> Program:
    return Program(expression)


CLUSTERS, SERVICES, JOBS, CRON_JOBS = SPEC_POLICIES


def refusals(document: dict[str, Any], policy: SpecPolicy = CLUSTERS) -> list[Check]:
    """The checks that an object does not pass; one that cannot be run counts as not passed (`failurePolicy: Fail`)."""
    names: dict[str, Any] = {"object": document, "variables": {}}
    for variable in policy.variables:
        try:
            names["variables"][variable.name] = program(variable.expression).execute(names)
        except Exception:  # as on an API server: whoever uses the variable fails
            continue
    return [check for check in policy.checks if not passes(check, names)]


def passes(check: Check, names: dict[str, Any]) -> bool:
    try:
        return program(check.expression).execute(names) is True
    except Exception:
        return False


CLUSTER = SPEC | st.just({"headGroupSpec": {"template": TEMPLATES[0]}})
RULES = st.lists(
    st.fixed_dictionaries(
        {
            "policy": st.sampled_from(["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"]),
            "condition": st.fixed_dictionaries(
                {}, optional={"jobStatus": st.sampled_from(["SUCCEEDED", "FAILED"]), "ttlSeconds": st.integers(0, 3)}
            ),
        }
    ),
    min_size=1,
    max_size=3,
)
END = mostly({"policy": "DeleteNone"}, {}, {"policy": "DeleteWorkers"}, {"policy": "DeleteCluster"})
JOB = st.fixed_dictionaries(
    {"entrypoint": mostly("python x.py", "", " \t")},
    optional={
        "rayClusterSpec": CLUSTER,
        "clusterSelector": mostly({}, {"ray.io/cluster": "a"}, {"a": "b"}, {"ray.io/cluster": ""}),
        "submissionMode": st.sampled_from(["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode", "Other", ""]),
        "backoffLimit": mostly(0, 1, -1),
        "submitterConfig": mostly({}, {"backoffLimit": 1}, {"backoffLimit": -1}),
        "submitterPodTemplate": mostly({}, {"spec": {"containers": [{"name": "x"}]}}),
        "suspend": st.booleans(),
        "shutdownAfterJobFinishes": st.booleans(),
        "ttlSecondsAfterFinished": mostly(0, 1, -1),
        "activeDeadlineSeconds": mostly(5, 0),
        "preRunningDeadlineSeconds": mostly(5, 0),
        "entrypointNumCpus": mostly(0, 0.5, -1),
        "entrypointNumGpus": mostly(0, 1, -0.5),
        "entrypointResources": mostly("", '{"a": 1}', ' {"a": 0.5}\n', "[1]", "1", '{"a'),
        "deletionStrategy": st.fixed_dictionaries({"deletionRules": RULES})
        | st.fixed_dictionaries({}, optional={"onSuccess": END, "onFailure": END}),
    },
)
OPTIONS_OF_STEPS = st.fixed_dictionaries(
    {},
    optional={
        "maxSurgePercent": mostly(100, 0, 20, 101, -1),
        "stepSizePercent": mostly(10, 0, 30, 101),
        "intervalSeconds": mostly(5, 0, -1),
        "gatewayClassName": mostly("istio", ""),
    },
)
SERVICE = st.fixed_dictionaries(
    {"rayClusterConfig": CLUSTER},
    optional={
        "rayClusterDeletionDelaySeconds": mostly(5, 0, -1),
        "serveService": mostly({}, {"spec": {"externalIPs": ["192.0.2.1"]}}, {"spec": {"type": "ExternalName", "externalName": "x"}}),
        "upgradeStrategy": st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["", "None", "NewCluster", "NewClusterWithIncrementalUpgrade", "Sideways"]),
                "clusterUpgradeOptions": OPTIONS_OF_STEPS,
            },
        ),
    },
)
SCHEDULES = mostly("0 3 * * *", "@daily", "@every 5m", "@every", "* * * *", "TZ=UTC * * * * *", "", " @hourly ", "@never", "1 2 3 4 5 6")
CRON = st.fixed_dictionaries({"schedule": SCHEDULES, "jobTemplate": JOB})
TIMEOUTS = mostly("", "10m", "90", "0", "0s", "soon", "1.5h", ".5s", "1h30m", "5 s", "-5s")
NOTES = {
    SERVICES: st.fixed_dictionaries({}, optional={"ray.io/initializing-timeout": TIMEOUTS}),
    JOBS: st.fixed_dictionaries({}, optional={"rayfleet.dev/retry-policy": mostly("", "SameCluster", "Other")}),
    CRON_JOBS: st.fixed_dictionaries(
        {},
        optional={
            "rayfleet.dev/concurrency-policy": mostly("", "Forbid", "Sometimes"),
            "rayfleet.dev/failed-jobs-history-limit": mostly("", "1", "-1", "one"),
        },
    ),
}


def nearly_good_of(policy: SpecPolicy) -> st.SearchStrategy[dict[str, Any]]:
    """The same of the other kinds."""
    spec = {SERVICES: SERVICE, JOBS: JOB, CRON_JOBS: CRON}[policy]
    names = mostly("demo", "a" * 36, "a" * 37, "a" * 47, "a" * 48, "Demo", "1a", "a-", "a.b")
    metadata = st.fixed_dictionaries({"name": names, "annotations": NOTES[policy]})
    fixed = {"apiVersion": st.just("ray.io/v1"), "kind": st.just(policy.resource.kind), "metadata": metadata, "spec": spec}
    return st.fixed_dictionaries(fixed)
