"""ValidatingAdmissionPolicies: what neither the schema nor a rule of the CRDs can say, told by the API server itself, without a webhook.

`spec_policies` refuse at once what the operator would refuse later (`rayfleet.api.validation`), one policy a kind. `rights_policy` is
optional: through the operator nobody gets more than they could make themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rayfleet.api.labels import RETRY_POLICY
from rayfleet.api.meta import RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES, Resource
from rayfleet.api.names import CLUSTER_NAME_LIMIT, CRON_JOB_NAME_LIMIT, RAY_JOB_NAME_LIMIT, SERVICE_NAME_LIMIT
from rayfleet.api.policies import cluster, cron_job, job, service
from rayfleet.api.policies.form import Check, Manifest, Variable, binding, policy
from rayfleet.api.policies.name import name_checks
from rayfleet.api.policies.rights import rights_policy

__all__ = ["SPEC_POLICIES", "SpecPolicy", "rights_policy", "spec_policies"]

NEW_SPEC = "oldObject == null || object.spec != oldObject.spec"


class SpecPolicy(NamedTuple):
    """The rules of one kind. Whoever uses a variable stands after it."""

    resource: Resource
    variables: tuple[Variable, ...]
    checks: tuple[Check, ...]

    @property
    def name(self) -> str:
        return f"{self.resource.plural}.rayfleet.dev"

    @property
    def manifests(self) -> tuple[Manifest, Manifest]:
        """What is stored already is judged only when its spec changes, so that it can always be let go."""
        conditions = [{"name": "the-spec-is-new", "expression": NEW_SPEC}]
        return policy(self.name, [self.resource], conditions, self.variables, self.checks, "Invalid"), binding(self.name)


def within(path: str, checks: Iterable[Check], unless: str = "") -> tuple[Check, ...]:
    """The same checks of a spec that stands elsewhere; `unless` says when there is none."""
    prefix = f"{unless} || " if unless else ""
    return tuple(Check(f"{prefix}({each.expression})", moved(each.message, path)) for each in checks)


def moved(message: str, path: str) -> str:
    return message.replace("spec", path, 1) if message.startswith("spec") else message


OBJECT = Variable("spec", "has(object.spec) ? object.spec : {}")
JOB = (
    Variable("job", "has(object.spec) ? object.spec : {}"),
    Variable(
        "retryPolicy",
        f"has(object.metadata.annotations) && '{RETRY_POLICY}' in object.metadata.annotations ? "
        f"object.metadata.annotations['{RETRY_POLICY}'] : ''",
    ),
)
NO_RETRY_POLICY = Variable("retryPolicy", "''")  # a RayCronJob's own annotations are not those of its jobs
TEMPLATE = "spec.jobTemplate"
SPEC_POLICIES = (
    SpecPolicy(RAYCLUSTERS, (OBJECT, *cluster.VARIABLES), (*name_checks(CLUSTER_NAME_LIMIT, "Services"), *cluster.CHECKS)),
    SpecPolicy(
        RAYSERVICES,
        (*service.VARIABLES, *cluster.VARIABLES),
        (*name_checks(SERVICE_NAME_LIMIT, "clusters"), *service.CHECKS, *within("spec.rayClusterConfig", cluster.CHECKS)),
    ),
    SpecPolicy(
        RAYJOBS,
        (*JOB, *job.VARIABLES, *cluster.VARIABLES),
        (*name_checks(RAY_JOB_NAME_LIMIT, "clusters"), *job.CHECKS, *within("spec.rayClusterSpec", cluster.CHECKS, "!variables.given")),
    ),
    SpecPolicy(
        RAYCRONJOBS,
        (*cron_job.VARIABLES, NO_RETRY_POLICY, *job.VARIABLES, *cluster.VARIABLES),
        (
            *name_checks(CRON_JOB_NAME_LIMIT, "jobs"),
            *cron_job.CHECKS,
            *within(TEMPLATE, (each for each in job.CHECKS if not each.message.startswith("metadata"))),
            *within(f"{TEMPLATE}.rayClusterSpec", cluster.CHECKS, "!variables.given"),
        ),
    ),
)


def spec_policies() -> tuple[Manifest, ...]:
    """Each kind's policy and its binding."""
    return tuple(manifest for each in SPEC_POLICIES for manifest in each.manifests)
