"""What is wrong with a RayJob, but for its cluster's spec and for `runtimeEnvYAML`, which is YAML (rules: KubeRay, 1.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from rayfleet.api.config import Configuration
from rayfleet.api.fault import Fault, shown
from rayfleet.api.labels import CLUSTER, RETRY_POLICY
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.names import RAY_JOB_NAME_LIMIT
from rayfleet.api.raycluster import MANAGERS
from rayfleet.api.rayjob import DeletionRule, RayJob, RayJobSpec
from rayfleet.api.template import absent, read_template
from rayfleet.api.validation.choices import field_faults, one_of
from rayfleet.api.validation.object_name import object_name_faults

K8S_JOB, HTTP, INTERACTIVE, SIDECAR = "K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"
MODES = (K8S_JOB, HTTP, INTERACTIVE, SIDECAR)
CLUSTER_SPEC = "spec.rayClusterSpec"
DELETE_CLUSTER, DELETE_WORKERS, DELETE_SELF, DELETE_NONE = "DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"
NEW_CLUSTER, SAME_CLUSTER = "NewCluster", "SameCluster"
RETRY_POLICIES = (NEW_CLUSTER, SAME_CLUSTER)
MILDER_FIRST = (DELETE_WORKERS, DELETE_CLUSTER, DELETE_SELF)
STRATEGY = "spec.deletionStrategy"


def job_kind_faults(job: RayJob, config: Configuration) -> Iterator[Fault]:
    yield from object_name_faults(job.metadata.name, RAY_JOB_NAME_LIMIT, "clusters")
    yield from spec_kind_faults(job.spec, config, job.metadata)


def spec_kind_faults(spec: RayJobSpec, config: Configuration, meta: ObjectMeta) -> Iterator[Fault]:
    """`meta` is that of the RayJob which has the spec."""
    yield from choices(spec)
    yield from source_faults(spec)
    yield from mode_faults(spec)
    yield from suspend_faults(spec)
    yield from number_faults(spec)
    yield from retry_faults(spec, meta)
    yield from resource_faults(spec)
    yield from strategy_faults(spec, config)


def choices(spec: RayJobSpec) -> Iterator[Fault]:
    if spec.submission_mode not in MODES:
        yield Fault("spec.submissionMode", f"{shown(spec.submission_mode)} is unknown", one_of(MODES))
    if spec.managed_by is not None and spec.managed_by not in MANAGERS:
        yield Fault("spec.managedBy", f"{shown(spec.managed_by)} is nobody known", one_of(MANAGERS))
    yield from field_faults(msgspec.structs.replace(spec, ray_cluster_spec=None), "spec")


def source_faults(spec: RayJobSpec) -> Iterator[Fault]:
    """One way to a cluster, and not two."""
    if spec.cluster_selector and spec.ray_cluster_spec is not None:
        yield Fault("spec.clusterSelector", "is set beside rayClusterSpec", "a job has one cluster: leave one of the two out")
    elif not spec.cluster_selector and spec.ray_cluster_spec is None:
        yield Fault(CLUSTER_SPEC, "is missing, and so is clusterSelector", "set one of the two")
    if spec.cluster_selector and not spec.cluster_selector.get(CLUSTER):
        yield Fault("spec.clusterSelector", f"does not name a cluster under {CLUSTER}")
    cluster = spec.ray_cluster_spec
    if cluster is None:
        return
    if cluster.auth_options and cluster.auth_options.enable_k8s_token_auth:
        path = f"{CLUSTER_SPEC}.authOptions.enableK8sTokenAuth"
        yield Fault(path, "the operator has no token of its own for Ray's ports", "use a token of a Secret")
    if cluster.upgrade_strategy and cluster.upgrade_strategy.type:
        yield Fault(f"{CLUSTER_SPEC}.upgradeStrategy.type", "a RayJob replaces its cluster itself", "leave it out")


def mode_faults(spec: RayJobSpec) -> Iterator[Fault]:
    mode = spec.submission_mode
    if mode in (K8S_JOB, HTTP, SIDECAR) and not spec.entrypoint.strip():
        yield Fault("spec.entrypoint", f"is empty, and {mode} submits it")
    if mode == INTERACTIVE and spec.backoff_limit > 0:
        yield Fault("spec.backoffLimit", f"{spec.backoff_limit}: nobody but its user can submit the job of {INTERACTIVE} again")
    if spec.cluster_selector and mode == SIDECAR:
        yield Fault("spec.submissionMode", f"{SIDECAR} needs a cluster of its own", "leave clusterSelector out")
    if mode != SIDECAR:
        return
    if not absent(spec.submitter_pod_template):
        yield Fault("spec.submitterPodTemplate", f"is set, and {SIDECAR} has no submitter Pod", "leave it out")
    if spec.submitter_config is not None:
        yield Fault("spec.submitterConfig", f"is set, and {SIDECAR} has no submitter Job", "leave it out")
    if spec.ray_cluster_spec is not None:
        policy = read_template(spec.ray_cluster_spec.head_group_spec.template, "").template.spec.restart_policy
        if policy not in ("", "Never"):
            path = f"{CLUSTER_SPEC}.headGroupSpec.template.spec.restartPolicy"
            yield Fault(path, f"{shown(policy)}: the head of {SIDECAR} ends with its job", "it must be Never or left out")


def suspend_faults(spec: RayJobSpec) -> Iterator[Fault]:
    if not spec.suspend:
        return
    if not spec.shutdown_after_job_finishes:
        yield Fault("spec.suspend", "a job whose cluster stays when it ends cannot be suspended", "set shutdownAfterJobFinishes")
    if spec.cluster_selector:
        yield Fault("spec.suspend", "a job on a cluster that is not its own cannot be suspended", "leave clusterSelector out")


def number_faults(spec: RayJobSpec) -> Iterator[Fault]:
    if spec.ttl_seconds_after_finished < 0:
        yield Fault("spec.ttlSecondsAfterFinished", f"{spec.ttl_seconds_after_finished} is negative", "it must be 0 or more")
    elif spec.ttl_seconds_after_finished > 0 and not spec.shutdown_after_job_finishes:
        yield Fault("spec.ttlSecondsAfterFinished", "nothing is removed after that time", "set shutdownAfterJobFinishes")
    deadlines = (("activeDeadlineSeconds", spec.active_deadline_seconds), ("preRunningDeadlineSeconds", spec.pre_running_deadline_seconds))
    for name, seconds in deadlines:
        if seconds is not None and seconds <= 0:
            yield Fault(f"spec.{name}", f"{seconds} is no time to wait", "it must be above 0")
    if spec.backoff_limit < 0:
        yield Fault("spec.backoffLimit", f"{spec.backoff_limit} is negative", "it must be 0 or more")
    limit = spec.submitter_config.backoff_limit if spec.submitter_config else None
    if limit is not None and limit < 0:
        yield Fault("spec.submitterConfig.backoffLimit", f"{limit} is negative", "it must be 0 or more")


def retry_faults(spec: RayJobSpec, meta: ObjectMeta) -> Iterator[Fault]:
    policy, path = meta.annotation(RETRY_POLICY), f"metadata.annotations[{RETRY_POLICY}]"
    if policy and policy not in RETRY_POLICIES:
        yield Fault(path, f"{shown(policy)} is unknown", one_of(RETRY_POLICIES))
    if policy == SAME_CLUSTER and spec.submission_mode == SIDECAR:
        yield Fault(path, f"{SAME_CLUSTER}: the head of {SIDECAR} ends with its job", "leave it out")
    if spec.backoff_limit > 0 and spec.cluster_selector and policy != SAME_CLUSTER:
        wrong = f"{spec.backoff_limit}: a retry gets a new cluster, and clusterSelector names a living one"
        yield Fault("spec.backoffLimit", wrong, f"set the annotation {RETRY_POLICY}: {SAME_CLUSTER}")


def resource_faults(spec: RayJobSpec) -> Iterator[Fault]:
    """What Ray would refuse when the cluster is up, which is late."""
    for name, value in (("entrypointNumCpus", spec.entrypoint_num_cpus), ("entrypointNumGpus", spec.entrypoint_num_gpus)):
        if value < 0:
            yield Fault(f"spec.{name}", f"{value} is negative", "it must be 0 or more")
    if not spec.entrypoint_resources:
        return
    try:
        msgspec.json.decode(spec.entrypoint_resources, type=dict[str, float])
    except msgspec.MsgspecError as error:
        rule = 'it must be a JSON object of numbers, as {"Custom": 1}'
        yield Fault("spec.entrypointResources", f"{shown(spec.entrypoint_resources)} cannot be read: {error}", rule)


def strategy_faults(spec: RayJobSpec, config: Configuration) -> Iterator[Fault]:
    strategy = spec.deletion_strategy
    if strategy is None:
        return
    if not config.gate("RayJobDeletionPolicy"):
        yield Fault(STRATEGY, "needs the feature gate RayJobDeletionPolicy, which is off", "use shutdownAfterJobFinishes")
    rules, legacy = strategy.deletion_rules, (strategy.on_success, strategy.on_failure)
    if rules and any(legacy):
        yield Fault(STRATEGY, "deletionRules and the older onSuccess/onFailure exclude each other")
    if not rules and not all(legacy):
        yield Fault(STRATEGY, "either deletionRules or both of onSuccess and onFailure must be set")
    if rules and spec.shutdown_after_job_finishes:
        yield Fault(f"{STRATEGY}.deletionRules", "are set beside shutdownAfterJobFinishes", "leave one of the two out")
    for name, policy in (("onSuccess", strategy.on_success), ("onFailure", strategy.on_failure)):
        if policy is not None:
            if policy.policy is None:
                yield Fault(f"{STRATEGY}.{name}.policy", "is missing")
            else:
                yield from policy_faults(spec, policy.policy, f"{STRATEGY}.{name}.policy")
    for index, rule in enumerate(rules):
        yield from rule_faults(spec, rule, f"{STRATEGY}.deletionRules[{index}]")
    yield from order_faults(rules)


def policy_faults(spec: RayJobSpec, policy: str, path: str) -> Iterator[Fault]:
    if policy in (DELETE_CLUSTER, DELETE_WORKERS) and spec.cluster_selector:
        yield Fault(path, f"{policy}: the cluster that clusterSelector names is not this job's to delete from")
    if policy == DELETE_WORKERS and spec.ray_cluster_spec is not None and spec.ray_cluster_spec.enable_in_tree_autoscaling:
        yield Fault(path, f"{policy}: the autoscaler would make the workers again", f"use {DELETE_CLUSTER}")
    if policy == DELETE_NONE and spec.shutdown_after_job_finishes:
        yield Fault(path, f"{policy} contradicts shutdownAfterJobFinishes", "leave one of the two out")


def rule_faults(spec: RayJobSpec, rule: DeletionRule, path: str) -> Iterator[Fault]:
    yield from policy_faults(spec, rule.policy, f"{path}.policy")
    condition = rule.condition
    if (condition.job_status is None) == (condition.job_deployment_status is None):
        yield Fault(f"{path}.condition", "exactly one of jobStatus and jobDeploymentStatus must be set")
    if condition.ttl_seconds < 0:
        yield Fault(f"{path}.condition.ttlSeconds", f"{condition.ttl_seconds} is negative", "it must be 0 or more")


def order_faults(rules: tuple[DeletionRule, ...]) -> Iterator[Fault]:
    """Of one outcome, what removes more comes no earlier than what removes less, and nothing is said twice."""
    path = f"{STRATEGY}.deletionRules"
    for (policy, outcome), count in sorted(Counter((rule.policy, outcome_of(rule)) for rule in rules).items()):
        if count > 1:
            yield Fault(path, f"say {count} times when {policy} applies to {outcome}", "say it once")
    for outcome in sorted({outcome_of(rule) for rule in rules}):
        times = {rule.policy: rule.condition.ttl_seconds for rule in rules if outcome_of(rule) == outcome}
        steps = [policy for policy in MILDER_FIRST if policy in times]
        for milder, harder in pairwise(steps):
            if times[milder] > times[harder]:
                yield Fault(
                    path, f"{milder} of {outcome} comes after {harder}, and would find nothing left", "give it a shorter ttlSeconds"
                )


def outcome_of(rule: DeletionRule) -> str:
    return rule.condition.job_status or rule.condition.job_deployment_status or ""
