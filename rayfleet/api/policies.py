"""ValidatingAdmissionPolicies: what neither the schema nor a rule of the CRDs can say, told by the API server itself, without a webhook.

`spec_policy` refuses at once what the operator would refuse later (`rayfleet.api.validation`). `rights_policy` is optional: through the
operator nobody gets more than they could make themselves.
Source of the form: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rayfleet.api.meta import RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES
from rayfleet.api.names import CLUSTER_NAME_LIMIT

Manifest = dict[str, Any]
SPEC_POLICY = "rayclusters.rayfleet.dev"
RIGHTS_POLICY = "rights.rayfleet.dev"
KINDS = (RAYCLUSTERS, RAYJOBS, RAYSERVICES, RAYCRONJOBS)


class Check(NamedTuple):
    """`expression` in CEL is true for what is good; `message` says what must be."""

    expression: str
    message: str


class Variable(NamedTuple):
    name: str
    expression: str


WORD = "[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"
LABEL = "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
PREFIX = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
V2_SWITCH = "RAY_enable_autoscaler_v2"

SPEC_VARIABLES = (
    Variable("spec", "has(object.spec) ? object.spec : {}"),
    Variable("head", "has(variables.spec.headGroupSpec) ? variables.spec.headGroupSpec : {}"),
    Variable("workers", "has(variables.spec.workerGroupSpecs) ? variables.spec.workerGroupSpecs : []"),
    Variable("groups", "[variables.head] + variables.workers"),
    Variable("labels", "has(object.metadata.labels) ? object.metadata.labels : {}"),
    Variable("annotations", "has(object.metadata.annotations) ? object.metadata.annotations : {}"),
    Variable("autoscales", "has(variables.spec.enableInTreeAutoscaling) && variables.spec.enableInTreeAutoscaling"),
    Variable("options", "has(variables.spec.autoscalerOptions) ? variables.spec.autoscalerOptions : {}"),
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
        f"size(object.metadata.name) <= {CLUSTER_NAME_LIMIT}",
        f"metadata.name: at most {CLUSTER_NAME_LIMIT} characters are allowed, or the names of its Services would be too long",
    ),
    Check(
        "object.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        "metadata.name: it must start with a lower-case letter, end with a letter or digit, and hold only these and hyphens",
    ),
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
        f"variables.v2 || variables.variables.exists(e, has(e.name) && e.name == '{V2_SWITCH}') || "
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
SPEC_CHECKS = (*NAMES, *SIZES, *GROUPS, *AUTOSCALING, *FAULT_TOLERANCE)

# What Ray's autoscaler writes, whose account may do nothing else: how many Pods of a shape that was checked already, and which go first.
SCALING = "['replicas', 'scaleStrategy']"
RIGHTS_VARIABLES = (
    Variable("job", "has(object.spec.jobTemplate) ? object.spec.jobTemplate : object.spec"),
    Variable(
        "cluster",
        "has(variables.job.rayClusterSpec) ? variables.job.rayClusterSpec : "
        "has(object.spec.rayClusterConfig) ? object.spec.rayClusterConfig : object.spec",
    ),
    Variable("head", "has(variables.cluster.headGroupSpec) ? variables.cluster.headGroupSpec : {}"),
    Variable(
        "vouched", "authorizer.group('ray.io').resource(request.resource.resource).namespace(request.namespace).check('vouch').allowed()"
    ),
)


def may(group: str, resource: str) -> str:
    return f"authorizer.group('{group}').resource('{resource}').namespace(request.namespace).check('create').allowed()"


RIGHTS_CHECKS = (
    Check(f"variables.vouched || {may('', 'pods')}", "you may not create Pods in this namespace, and so no Ray objects, which make Pods"),
    Check(
        f"variables.vouched || {may('', 'services')}",
        "you may not create Services in this namespace, and so no Ray objects, which make Services",
    ),
    Check(
        "variables.vouched || !has(variables.head.enableIngress) || !variables.head.enableIngress || "
        + may("networking.k8s.io", "ingresses"),
        "headGroupSpec.enableIngress: you may not create Ingresses in this namespace",
    ),
)
SAME_GROUPS = (
    "has(object.spec.workerGroupSpecs) && has(oldObject.spec.workerGroupSpecs) && "
    "size(object.spec.workerGroupSpecs) == size(oldObject.spec.workerGroupSpecs) && "
    "object.spec.workerGroupSpecs.all(g, oldObject.spec.workerGroupSpecs.exists(o, o.groupName == g.groupName && "
    f"g.all(k, k in {SCALING} || k in o && o[k] == g[k]) && o.all(k, k in {SCALING} || k in g)))"
)
SAME_REST = (
    "object.spec.all(k, k == 'workerGroupSpecs' || k in oldObject.spec && oldObject.spec[k] == object.spec[k]) && "
    "oldObject.spec.all(k, k == 'workerGroupSpecs' || k in object.spec)"
)
NEW_SPEC = "oldObject == null || object.spec != oldObject.spec"
MORE_THAN_SCALED = f"oldObject == null || !({SAME_GROUPS} && {SAME_REST}) && object.spec != oldObject.spec"


def spec_policy() -> tuple[Manifest, Manifest]:
    """The policy and its binding. What is stored already is judged only when its spec changes, so that it can always be let go."""
    conditions = [{"name": "the-spec-is-new", "expression": NEW_SPEC}]
    return policy(SPEC_POLICY, [RAYCLUSTERS.plural], conditions, SPEC_VARIABLES, SPEC_CHECKS, "Invalid"), binding(SPEC_POLICY)


def rights_policy() -> tuple[Manifest, Manifest]:
    """The policy and its binding. Whoever may `vouch` for a kind in a namespace (a verb of RBAC) is trusted there: a queue, for example."""
    conditions = [{"name": "more-than-scaled", "expression": MORE_THAN_SCALED}]
    kinds = [kind.plural for kind in KINDS]
    return policy(RIGHTS_POLICY, kinds, conditions, RIGHTS_VARIABLES, RIGHTS_CHECKS, "Forbidden"), binding(RIGHTS_POLICY)


def policy(
    name: str, kinds: list[str], conditions: list[dict[str, str]], variables: Sequence[Variable], checks: Sequence[Check], reason: str
) -> Manifest:
    rule = {"apiGroups": ["ray.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": kinds}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
            "matchConditions": conditions,
            "variables": [{"name": each.name, "expression": each.expression} for each in variables],
            "validations": [{"expression": each.expression, "message": each.message, "reason": reason} for each in checks],
        },
    }


def binding(name: str) -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
