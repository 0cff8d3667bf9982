"""What is wrong with a RayJob's spec, wherever it stands: `variables.job` is the spec, `variables.retryPolicy` what its annotation says."""

from __future__ import annotations

from rayfleet.api.labels import RETRY_POLICY
from rayfleet.api.policies.form import Check, Variable
from rayfleet.api.validation.ray_job import (
    DELETE_CLUSTER,
    DELETE_NONE,
    DELETE_WORKERS,
    HTTP,
    INTERACTIVE,
    K8S_JOB,
    MILDER_FIRST,
    MODES,
    RETRY_POLICIES,
    SAME_CLUSTER,
    SIDECAR,
)

OUTCOME = "(has({0}.condition.jobStatus) ? {0}.condition.jobStatus : has({0}.condition.jobDeploymentStatus) ? 'deployment' : '')"
TIME = "(has({0}.condition.ttlSeconds) ? {0}.condition.ttlSeconds : 0)"
RANK = "{0}.policy == '" + MILDER_FIRST[0] + "' ? 0 : {0}.policy == '" + MILDER_FIRST[1] + "' ? 1 : 2"
SAME = f"r.policy == s.policy && {OUTCOME.format('r')} == {OUTCOME.format('s')}"
BEFORE = (
    f"{OUTCOME.format('r')} != {OUTCOME.format('s')} || r.policy == '{DELETE_NONE}' || s.policy == '{DELETE_NONE}' || "
    f"({RANK.format('r')}) >= ({RANK.format('s')}) || {TIME.format('r')} <= {TIME.format('s')}"
)
VARIABLES = (
    Variable("given", "has(variables.job.rayClusterSpec)"),
    Variable("spec", "variables.given ? variables.job.rayClusterSpec : {}"),
    Variable("selects", "has(variables.job.clusterSelector) && size(variables.job.clusterSelector) > 0"),
    Variable("mode", f"has(variables.job.submissionMode) ? variables.job.submissionMode : '{K8S_JOB}'"),
    Variable("shutdown", "has(variables.job.shutdownAfterJobFinishes) && variables.job.shutdownAfterJobFinishes"),
    Variable("suspend", "has(variables.job.suspend) && variables.job.suspend"),
    Variable("retries", "has(variables.job.backoffLimit) ? variables.job.backoffLimit : 0"),
    Variable("ttl", "has(variables.job.ttlSecondsAfterFinished) ? variables.job.ttlSecondsAfterFinished : 0"),
    Variable("strategy", "has(variables.job.deletionStrategy) ? variables.job.deletionStrategy : {}"),
    Variable("rules", "has(variables.strategy.deletionRules) ? variables.strategy.deletionRules : []"),
    Variable(
        "policies",
        "variables.rules.map(r, r.policy) + "
        "(has(variables.strategy.onSuccess) && has(variables.strategy.onSuccess.policy) ? [variables.strategy.onSuccess.policy] : []) + "
        "(has(variables.strategy.onFailure) && has(variables.strategy.onFailure.policy) ? [variables.strategy.onFailure.policy] : [])",
    ),
)
SOURCES = (
    Check("!variables.given || !variables.selects", "spec: a job has one cluster; set rayClusterSpec or clusterSelector, not both"),
    Check("variables.given || variables.selects", "spec: a job needs a cluster; set rayClusterSpec or clusterSelector"),
    Check(
        "!variables.selects || 'ray.io/cluster' in variables.job.clusterSelector && variables.job.clusterSelector['ray.io/cluster'] != ''",
        "spec.clusterSelector: it must name a cluster under ray.io/cluster",
    ),
    Check(
        "!has(variables.spec.authOptions) || !has(variables.spec.authOptions.enableK8sTokenAuth) || "
        "!variables.spec.authOptions.enableK8sTokenAuth",
        "spec.rayClusterSpec.authOptions.enableK8sTokenAuth: the operator has no token of its own for Ray's ports",
    ),
    Check(
        "!has(variables.spec.upgradeStrategy) || !has(variables.spec.upgradeStrategy.type) || variables.spec.upgradeStrategy.type == ''",
        "spec.rayClusterSpec.upgradeStrategy.type: a RayJob replaces its cluster itself; leave it out",
    ),
)
SUBMISSION = (
    Check(f"variables.mode in {list(MODES)}", f"spec.submissionMode: it must be one of {', '.join(MODES)}"),
    Check(
        f"!(variables.mode in {[K8S_JOB, HTTP, SIDECAR]}) || "
        r"has(variables.job.entrypoint) && variables.job.entrypoint.matches('\\S')",
        "spec.entrypoint: it is empty, and the mode submits it",
    ),
    Check(
        f"variables.mode != '{INTERACTIVE}' || variables.retries <= 0",
        f"spec.backoffLimit: only its user submits a job of {INTERACTIVE}",
    ),
    Check(f"variables.mode != '{SIDECAR}' || !variables.selects", f"spec.submissionMode: {SIDECAR} needs a cluster of its own"),
    Check(
        f"variables.mode != '{SIDECAR}' || !has(variables.job.submitterPodTemplate) && !has(variables.job.submitterConfig)",
        f"spec: {SIDECAR} has no submitter Pod; leave submitterPodTemplate and submitterConfig out",
    ),
    Check(
        f"variables.mode != '{SIDECAR}' || !has(variables.head.template) || !has(variables.head.template.spec) || "
        "!has(variables.head.template.spec.restartPolicy) || variables.head.template.spec.restartPolicy in ['', 'Never']",
        f"spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy: the head of {SIDECAR} ends with its job; Never, or leave it out",
    ),
)
NUMBERS = (
    Check(
        "!variables.suspend || variables.shutdown",
        "spec.suspend: it needs shutdownAfterJobFinishes, as the cluster goes",
    ),
    Check("!variables.suspend || !variables.selects", "spec.suspend: a job on a cluster that is not its own cannot be suspended"),
    Check("variables.ttl >= 0", "spec.ttlSecondsAfterFinished: it must be 0 or more"),
    Check("variables.ttl <= 0 || variables.shutdown", "spec.ttlSecondsAfterFinished: it needs shutdownAfterJobFinishes"),
    Check(
        "(!has(variables.job.activeDeadlineSeconds) || variables.job.activeDeadlineSeconds > 0) && "
        "(!has(variables.job.preRunningDeadlineSeconds) || variables.job.preRunningDeadlineSeconds > 0)",
        "spec: activeDeadlineSeconds and preRunningDeadlineSeconds must be above 0",
    ),
    Check("variables.retries >= 0", "spec.backoffLimit: it must be 0 or more"),
    Check(
        f"variables.retryPolicy in {['', *RETRY_POLICIES]}",
        f"metadata.annotations[{RETRY_POLICY}]: it must be one of {', '.join(RETRY_POLICIES)}",
    ),
    Check(
        f"variables.retryPolicy != '{SAME_CLUSTER}' || variables.mode != '{SIDECAR}'",
        f"metadata.annotations[{RETRY_POLICY}]: the head of {SIDECAR} ends with its job; leave {SAME_CLUSTER} out",
    ),
    Check(
        f"variables.retries <= 0 || !variables.selects || variables.retryPolicy == '{SAME_CLUSTER}'",
        f"spec.backoffLimit: clusterSelector names a living cluster; set the annotation {RETRY_POLICY}: {SAME_CLUSTER}",
    ),
    Check(
        "!has(variables.job.submitterConfig) || !has(variables.job.submitterConfig.backoffLimit) || "
        "variables.job.submitterConfig.backoffLimit >= 0",
        "spec.submitterConfig.backoffLimit: it must be 0 or more",
    ),
    Check(
        "(!has(variables.job.entrypointNumCpus) || double(variables.job.entrypointNumCpus) >= 0.0) && "
        "(!has(variables.job.entrypointNumGpus) || double(variables.job.entrypointNumGpus) >= 0.0)",
        "spec: entrypointNumCpus and entrypointNumGpus must be 0 or more",
    ),
    Check(
        "!has(variables.job.entrypointResources) || variables.job.entrypointResources == '' || "
        r"variables.job.entrypointResources.matches('^\\s*[{][\\s\\S]*[}]\\s*$')",
        "spec.entrypointResources: it must be a JSON object of numbers",
    ),
)
DELETION = (
    Check(
        "!has(variables.job.deletionStrategy) || size(variables.rules) > 0 || "
        "has(variables.strategy.onSuccess) && has(variables.strategy.onSuccess.policy) && "
        "has(variables.strategy.onFailure) && has(variables.strategy.onFailure.policy)",
        "spec.deletionStrategy: either deletionRules or a policy for both of onSuccess and onFailure must be set",
    ),
    Check(
        "size(variables.rules) == 0 || !variables.shutdown",
        "spec.deletionStrategy.deletionRules: they do not go with shutdownAfterJobFinishes",
    ),
    Check(
        f"!variables.selects || variables.policies.all(p, !(p in {[DELETE_CLUSTER, DELETE_WORKERS]}))",
        "spec.deletionStrategy: the cluster that clusterSelector names is not this job's to delete from",
    ),
    Check(
        f"!variables.autoscales || variables.policies.all(p, p != '{DELETE_WORKERS}')",
        f"spec.deletionStrategy: the autoscaler would make the workers again; use {DELETE_CLUSTER}",
    ),
    Check(
        f"!variables.shutdown || variables.policies.all(p, p != '{DELETE_NONE}')",
        f"spec.deletionStrategy: {DELETE_NONE} contradicts shutdownAfterJobFinishes",
    ),
    Check(
        f"variables.rules.all(r, variables.rules.exists_one(s, {SAME}))",
        "spec.deletionStrategy.deletionRules: a policy applies to an outcome once",
    ),
    Check(
        f"variables.rules.all(r, variables.rules.all(s, {BEFORE}))",
        "spec.deletionStrategy.deletionRules: what removes more comes no earlier than what removes less",
    ),
)
CHECKS = (*SOURCES, *SUBMISSION, *NUMBERS, *DELETION)
