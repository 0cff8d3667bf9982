"""What is wrong with a cluster's spec, wherever it stands: `variables.spec` is the spec, `object` the whole RayCluster, RayJob, ..."""

from __future__ import annotations

from rayfleet.api.labels import AUTOSCALING as AUTOSCALING_CHOICE
from rayfleet.api.policies.form import Check, Variable
from rayfleet.api.scaler import HOSTED

WORD = "[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"
LABEL = "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
PREFIX = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
V2_SWITCH = "RAY_enable_autoscaler_v2"

VARIABLES = (
    Variable("head", "has(variables.spec.headGroupSpec) ? variables.spec.headGroupSpec : {}"),
    Variable("workers", "has(variables.spec.workerGroupSpecs) ? variables.spec.workerGroupSpecs : []"),
    Variable("groups", "[variables.head] + variables.workers"),
    Variable("labels", "has(object.metadata.labels) ? object.metadata.labels : {}"),
    Variable("annotations", "has(object.metadata.annotations) ? object.metadata.annotations : {}"),
    Variable("autoscales", "has(variables.spec.enableInTreeAutoscaling) && variables.spec.enableInTreeAutoscaling"),
    Variable("options", "has(variables.spec.autoscalerOptions) ? variables.spec.autoscalerOptions : {}"),
    Variable("hosted", f"'{AUTOSCALING_CHOICE}' in variables.annotations && variables.annotations['{AUTOSCALING_CHOICE}'] == '{HOSTED}'"),
    Variable("v2", "has(variables.options.version) && variables.options.version == 'v2'"),
    Variable(
        "pods",
        "variables.groups.all(g, has(g.template) && has(g.template.spec) && has(g.template.spec.containers) && "
        "size(g.template.spec.containers) > 0)",
    ),
    Variable(
        "variables",
        "variables.pods && has(variables.head.template.spec.containers[0].env) ? variables.head.template.spec.containers[0].env : []",
    ),
    Variable("params", "has(variables.head.rayStartParams) ? variables.head.rayStartParams : {}"),
    Variable("tolerance", "has(variables.spec.gcsFaultToleranceOptions)"),
    Variable("keeper", "variables.tolerance ? variables.spec.gcsFaultToleranceOptions : {}"),
)

NAMES = (
    Check(
        "variables.workers.all(g, has(g.groupName) && g.groupName != '')",
        "spec.workerGroupSpecs[].groupName: each worker group needs a name",
    ),
    Check(
        "variables.workers.all(g, !has(g.groupName) || variables.workers.exists_one(h, has(h.groupName) && h.groupName == g.groupName))",
        "spec.workerGroupSpecs[].groupName: each worker group needs a name of its own",
    ),
    Check(
        rf"variables.workers.all(g, !has(g.groupName) || size(g.groupName) <= 63 && g.groupName.matches('^({WORD}(\\.{WORD})*)?$'))",
        "spec.workerGroupSpecs[].groupName: at most 63 letters, digits, hyphens and single dots, the first and last a letter or digit",
    ),
)
SIZES = (
    Check(
        "variables.workers.all(g, (!has(g.replicas) || g.replicas >= 0) && (!has(g.minReplicas) || g.minReplicas >= 0) && "
        "(!has(g.maxReplicas) || g.maxReplicas >= 0))",
        "spec.workerGroupSpecs[]: replicas, minReplicas and maxReplicas must be 0 or more",
    ),
    Check(
        "variables.workers.all(g, !has(g.minReplicas) || !has(g.maxReplicas) || g.minReplicas <= g.maxReplicas)",
        "spec.workerGroupSpecs[].minReplicas: it must be between 0 and maxReplicas",
    ),
    Check(
        "variables.workers.all(g, !has(g.numOfHosts) || g.numOfHosts >= 1)",
        "spec.workerGroupSpecs[].numOfHosts: a replica has at least one host",
    ),
)
GROUPS = (
    Check(
        "variables.pods",
        "template.spec.containers: the head and each worker group need at least one container; the first is the Ray container",
    ),
    Check(
        "variables.groups.all(g, !has(g.resources) || size(g.resources) == 0 || !has(g.rayStartParams) || "
        "!['num-cpus', 'num-gpus', 'memory', 'resources'].exists(p, p in g.rayStartParams && g.rayStartParams[p] != ''))",
        "resources: set here and in rayStartParams; only one of the two may be used",
    ),
    Check(
        "variables.groups.all(g, !has(g.rayStartParams) || !('labels' in g.rayStartParams))",
        "rayStartParams.labels: labels are no start parameter here; use the group's labels",
    ),
    Check(
        "variables.groups.all(g, !has(g.labels) || g.labels.all(k, "
        rf"k.matches('^({PREFIX}/)?{LABEL}$') && (g.labels[k] == '' || size(g.labels[k]) <= 63 && g.labels[k].matches('^{LABEL}$'))))",
        "labels: keys and values must be those of Kubernetes' labels",
    ),
    Check(
        "!has(variables.head.serviceType) || variables.head.serviceType in ['', 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']",
        "spec.headGroupSpec.serviceType: it must be one of ClusterIP, NodePort, LoadBalancer, ExternalName",
    ),
    Check(
        "!has(variables.spec.upgradeStrategy) || !has(variables.spec.upgradeStrategy.type) || variables.spec.upgradeStrategy.type == '' || "
        "!('ray.io/originated-from-crd' in variables.labels) || "
        "!(variables.labels['ray.io/originated-from-crd'] in ['RayJob', 'RayService'])",
        "spec.upgradeStrategy.type: the cluster was made by a RayJob or RayService, which replaces it itself; leave it out",
    ),
)
AUTOSCALING = (
    Check(
        "(!has(variables.options.idleTimeoutSeconds) || variables.options.idleTimeoutSeconds >= 0) && "
        "variables.workers.all(g, !has(g.idleTimeoutSeconds) || g.idleTimeoutSeconds >= 0)",
        "idleTimeoutSeconds: it must be 0 or more",
    ),
    Check(
        "!has(variables.options.env) || !variables.options.env.exists(e, has(e.name) && e.name == 'KUBERAY_GEN_AUTOSCALER_START_CMD')",
        "spec.autoscalerOptions.env: KUBERAY_GEN_AUTOSCALER_START_CMD is set by the operator; it may be used in args, not set",
    ),
    Check(
        f"variables.hosted || variables.v2 || variables.variables.exists(e, has(e.name) && e.name == '{V2_SWITCH}') || "
        "variables.workers.all(g, !has(g.idleTimeoutSeconds) && (!has(g.priority) || g.priority == 0))",
        "spec.workerGroupSpecs[]: idleTimeoutSeconds and priority need autoscaler v2; set spec.autoscalerOptions.version: v2",
    ),
    Check(
        "!variables.autoscales || variables.workers.all(g, !has(g.suspend) || !g.suspend)",
        "spec.workerGroupSpecs[].suspend: a group cannot be suspended while the autoscaler sizes it",
    ),
    Check(
        "!variables.autoscales || !has(variables.options.version) || "
        f"!variables.variables.exists(e, has(e.name) && e.name == '{V2_SWITCH}')",
        f"spec.headGroupSpec: {V2_SWITCH} is set together with spec.autoscalerOptions.version; only the latter may be used",
    ),
    Check(
        "!variables.autoscales || !variables.v2 || !variables.pods || "
        "variables.groups.all(g, !has(g.template.spec.restartPolicy) || g.template.spec.restartPolicy in ['', 'Never'])",
        "template.spec.restartPolicy: with autoscaler v2 it must be Never or left out",
    ),
)
FAULT_TOLERANCE = (
    Check(
        "!('redis-username' in variables.params) || variables.params['redis-username'] == ''",
        "spec.headGroupSpec.rayStartParams.redis-username: use spec.gcsFaultToleranceOptions.redisUsername",
    ),
    Check(
        "!variables.tolerance || ['ray.io/ft-enabled', 'ray.io/external-storage-namespace'].all(a, "
        "!(a in variables.annotations) || variables.annotations[a] == '')",
        "metadata.annotations: ray.io/ft-enabled and ray.io/external-storage-namespace do not go with spec.gcsFaultToleranceOptions",
    ),
    Check(
        "!variables.tolerance || !('redis-password' in variables.params) || variables.params['redis-password'] == ''",
        "spec.headGroupSpec.rayStartParams.redis-password: use spec.gcsFaultToleranceOptions.redisPassword",
    ),
    Check(
        "!variables.tolerance || !has(variables.keeper.storage) || has(variables.keeper.backend) && variables.keeper.backend == 'rocksdb'",
        "spec.gcsFaultToleranceOptions.storage: belongs to the backend rocksdb; set backend: rocksdb, or leave it out",
    ),
)
CHECKS = (*NAMES, *SIZES, *GROUPS, *AUTOSCALING, *FAULT_TOLERANCE)
