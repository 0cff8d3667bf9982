"""Through the operator nobody gets more than they could make themselves."""

from __future__ import annotations

from rayfleet.api.meta import OLD_RAYCLUSTERS, RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES
from rayfleet.api.policies.form import Check, Manifest, Variable, binding, policy

RIGHTS_POLICY = "rights.rayfleet.dev"
KINDS = (RAYCLUSTERS, RAYJOBS, RAYSERVICES, RAYCRONJOBS, OLD_RAYCLUSTERS)

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
        "vouched",
        "authorizer.group(request.resource.group).resource(request.resource.resource).namespace(request.namespace)"
        ".check('vouch').allowed()",
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
MORE_THAN_SCALED = f"oldObject == null || !({SAME_GROUPS} && {SAME_REST}) && object.spec != oldObject.spec"


def rights_policy() -> tuple[Manifest, Manifest]:
    """The policy and its binding. Whoever may `vouch` for a kind in a namespace (a verb of RBAC) is trusted there: a queue, for example."""
    conditions = [{"name": "more-than-scaled", "expression": MORE_THAN_SCALED}]
    return policy(RIGHTS_POLICY, KINDS, conditions, RIGHTS_VARIABLES, RIGHTS_CHECKS, "Forbidden"), binding(RIGHTS_POLICY)
