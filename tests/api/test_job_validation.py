"""What is wrong with a RayJob: every rule of KubeRay and ours, all faults at once, each with its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.decode import decode_job
from rayfleet.api.rayjob import RayJob
from rayfleet.api.validation import validate_job
from rayfleet.ray.runtime_env import runtime_env
from tests.api.manifests import recorded_objects

CLUSTER: dict[str, Any] = {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "ray"}]}}}}
AUTOSCALED = {**CLUSTER, "enableInTreeAutoscaling": True}
SELECTED = {"rayClusterSpec": None, "clusterSelector": {"ray.io/cluster": "shared"}}
NONE = {"policy": "DeleteNone"}
USUAL = Configuration()


def job(name: str = "train", **spec: Any) -> dict[str, Any]:
    given = {"entrypoint": "python x.py", "rayClusterSpec": CLUSTER, **spec}
    return {"metadata": {"name": name, "namespace": "demo"}, "spec": {key: value for key, value in given.items() if value is not None}}


def retried(policy: str, **spec: Any) -> dict[str, Any]:
    made = job(backoffLimit=1, **spec)
    made["metadata"]["annotations"] = {"rayfleet.dev/retry-policy": policy}
    return made


def rule(policy: str, seconds: int = 0, **condition: str) -> dict[str, Any]:
    return {"policy": policy, "condition": {"ttlSeconds": seconds, **(condition or {"jobStatus": "SUCCEEDED"})}}


def rules(*given: dict[str, Any]) -> dict[str, Any]:
    return {"deletionStrategy": {"deletionRules": list(given)}}


def faults(document: dict[str, Any], config: Configuration = USUAL) -> list[str]:
    found = decode_job(msgspec.json.encode(document))
    more = runtime_env(found.spec.runtime_env_yaml)[1] if isinstance(found, RayJob) else ()
    return [str(fault) for fault in (*validate_job(found, config), *more)]


GOOD = {
    "plain": job(),
    "selector": job(**SELECTED),
    "explicitly not suspended": job(suspend=False, shutdownAfterJobFinishes=False),  # report B5, 89 (k#3994)
    "suspended": job(suspend=True, shutdownAfterJobFinishes=True),
    "retries on a cluster of its own": retried("SameCluster"),
    "retries on another's": retried("SameCluster", **SELECTED),
    "sidecar": job(submissionMode="SidecarMode"),
    "interactive": job(submissionMode="InteractiveMode", entrypoint=""),
    "rules": job(
        **rules(rule("DeleteWorkers", 5), rule("DeleteCluster", 5), rule("DeleteSelf", 9), rule("DeleteCluster", 0, jobStatus="FAILED"))
    ),
    "legacy": job(deletionStrategy={"onSuccess": NONE, "onFailure": {"policy": "DeleteCluster"}}),
    "environment": job(runtimeEnvYAML="env_vars:\n  A: b\n", entrypointResources='{"disk": 1, "Custom": 0.25}'),
}

BAD: list[tuple[dict[str, Any], str, str]] = [
    (job("x" * 48), "metadata.name", "at most 47"),
    (job("9x"), "metadata.name", "cannot be the name of a Service"),
    (job(submissionMode="Other"), "spec.submissionMode", "K8sJobMode, HTTPMode, InteractiveMode, SidecarMode"),
    (job(managedBy="me"), "spec.managedBy", "kueue"),
    (job(rayClusterSpec=None), "spec.rayClusterSpec", "set one of the two"),
    (job(clusterSelector={"ray.io/cluster": "a"}), "spec.clusterSelector", "leave one of the two out"),
    (job(rayClusterSpec=None, clusterSelector={"app": "a"}), "spec.clusterSelector", "ray.io/cluster"),
    (job(**SELECTED, submissionMode="SidecarMode"), "spec.submissionMode", "a cluster of its own"),
    (job(**SELECTED, backoffLimit=1), "spec.backoffLimit", "rayfleet.dev/retry-policy: SameCluster"),
    (retried("Other"), "metadata.annotations[rayfleet.dev/retry-policy]", "NewCluster, SameCluster"),
    (retried("NewCluster", **SELECTED), "spec.backoffLimit", "rayfleet.dev/retry-policy: SameCluster"),
    (retried("SameCluster", submissionMode="SidecarMode"), "metadata.annotations[rayfleet.dev/retry-policy]", "ends with its job"),
    (job(**SELECTED, suspend=True, shutdownAfterJobFinishes=True), "spec.suspend", "not its own"),
    (job(suspend=True), "spec.suspend", "set shutdownAfterJobFinishes"),
    (job(entrypoint=" "), "spec.entrypoint", "is empty"),
    (job(submissionMode="InteractiveMode", backoffLimit=1), "spec.backoffLimit", "submit the job"),
    (job(submissionMode="SidecarMode", submitterPodTemplate={"spec": {}}), "spec.submitterPodTemplate", "leave it out"),
    (job(submissionMode="SidecarMode", submitterConfig={"backoffLimit": 1}), "spec.submitterConfig", "leave it out"),
    (job(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished", "negative"),
    (job(ttlSecondsAfterFinished=1), "spec.ttlSecondsAfterFinished", "set shutdownAfterJobFinishes"),
    (job(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds", "above 0"),
    (job(preRunningDeadlineSeconds=0), "spec.preRunningDeadlineSeconds", "above 0"),
    (job(backoffLimit=-1), "spec.backoffLimit", "negative"),
    (job(submitterConfig={"backoffLimit": -1}), "spec.submitterConfig.backoffLimit", "negative"),
    (job(entrypointNumCpus=-1), "spec.entrypointNumCpus", "negative"),
    (job(entrypointResources="[1]"), "spec.entrypointResources", "JSON object"),
    (job(runtimeEnvYAML="- a"), "spec.runtimeEnvYAML", "mapping"),
    (job(runtimeEnvYAML="a: [1"), "spec.runtimeEnvYAML", "no YAML"),
    (job(deletionStrategy={"onSuccess": NONE}), "spec.deletionStrategy", "both of onSuccess and onFailure"),
    (job(deletionStrategy={"onSuccess": {}, "onFailure": NONE}), "spec.deletionStrategy.onSuccess.policy", "missing"),
    (
        job(deletionStrategy={"deletionRules": [rule("DeleteSelf")], "onSuccess": NONE, "onFailure": NONE}),
        "spec.deletionStrategy",
        "exclude",
    ),
    (job(**rules(rule("DeleteSelf")), shutdownAfterJobFinishes=True), "spec.deletionStrategy.deletionRules", "leave one of the two out"),
    (job(deletionStrategy={"onSuccess": NONE, "onFailure": NONE}, shutdownAfterJobFinishes=True), "spec.deletionStrategy", "contradicts"),
    (job(**SELECTED, **rules(rule("DeleteCluster"))), "spec.deletionStrategy.deletionRules[0].policy", "not this job's"),
    (job(rayClusterSpec=AUTOSCALED, **rules(rule("DeleteWorkers"))), "spec.deletionStrategy.deletionRules[0].policy", "autoscaler"),
    (job(**rules(rule("DeleteSelf", jobStatus="FAILED", jobDeploymentStatus="Failed"))), "spec.deletionStrategy", "exactly one"),
    (job(**rules(rule("DeleteSelf", -1))), "spec.deletionStrategy.deletionRules[0].condition.ttlSeconds", "negative"),
    (job(**rules(rule("DeleteSelf", 1), rule("DeleteSelf", 2))), "spec.deletionStrategy.deletionRules", "2 times"),
    (job(**rules(rule("DeleteWorkers", 9), rule("DeleteCluster", 1))), "spec.deletionStrategy.deletionRules", "comes after DeleteCluster"),
    (job(**rules(rule("Other"))), "spec.deletionStrategy.deletionRules[0].policy", "is unknown"),
    (job(rayClusterSpec={"headGroupSpec": {}}), "spec.rayClusterSpec.headGroupSpec.template", "is missing"),
    (
        job(rayClusterSpec={**CLUSTER, "authOptions": {"mode": "token", "enableK8sTokenAuth": True}}),
        "spec.rayClusterSpec.authOptions",
        "Secret",
    ),
    (job(rayClusterSpec={**CLUSTER, "upgradeStrategy": {"type": "Recreate"}}), "spec.rayClusterSpec.upgradeStrategy.type", "leave it out"),
    (job(backoffLimit="1"), "spec.backoffLimit", "expected int"),
]


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_good_jobs_have_no_fault(document: dict[str, Any]) -> None:
    assert faults(document) == []


@pytest.mark.parametrize(("document", "place", "holds"), BAD, ids=[f"{place}-{holds}" for _, place, holds in BAD])
def test_a_fault_names_its_place_and_what_is_allowed(document: dict[str, Any], place: str, holds: str) -> None:
    assert any(fault.startswith(place) and holds in fault for fault in faults(document)), faults(document)


def test_the_head_of_sidecar_mode_may_not_restart() -> None:
    spec = {"headGroupSpec": {"template": {"spec": {"restartPolicy": "Always", "containers": [{"name": "ray"}]}}}}
    (found,) = faults(job(submissionMode="SidecarMode", rayClusterSpec=spec))
    assert found.startswith("spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy")


def test_a_strategy_needs_its_gate() -> None:
    config = Configuration(feature_gates={"RayJobDeletionPolicy": False})
    (found,) = faults(GOOD["rules"], config)
    assert "RayJobDeletionPolicy" in found


def test_all_faults_come_at_once() -> None:
    found = faults(job("X", submissionMode="Other", backoffLimit=-1, activeDeadlineSeconds=0, runtimeEnvYAML="x", rayClusterSpec=None))
    assert len(found) == 6


@pytest.mark.parametrize(("case", "document"), recorded_objects("RayJob"))
def test_recorded_inputs(case: str, document: dict[str, Any]) -> None:
    """What the recordings call invalid is refused, and nothing else."""
    assert bool(faults(document)) == case.startswith("rayjob-invalid-")
