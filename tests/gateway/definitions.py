"""CustomResourceDefinitions of the Gateway API's names; what stands in a spec is not checked."""

from __future__ import annotations

from typing import Any

from rayfleet.api.meta import GATEWAYS, HTTPROUTES, Resource
from tests.issuer.definitions import definition

KINDS = (GATEWAYS, HTTPROUTES)
APPROVED = {"api-approved.kubernetes.io": "unapproved, for tests"}
"""Without a word of this an API server takes no definition of Kubernetes' own groups."""


def approved(resource: Resource) -> dict[str, Any]:
    made = definition(resource)
    return {**made, "metadata": {**made["metadata"], "annotations": APPROVED}}


DEFINITIONS = tuple(map(approved, KINDS))
