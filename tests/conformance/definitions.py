"""Custom kinds that several cases use, and what makes more of them."""

from __future__ import annotations

from typing import Any

from tests.apiserver.manifests import boats

Obj = dict[str, Any]

OPEN: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(group: str, plural: str, kind: str, version: str = "v1", schema: Obj | None = None, **more: Any) -> Obj:
    """A kind with a status of its own; without a schema anything goes in spec and status."""
    properties = {"spec": OPEN, "status": OPEN}
    versions = [
        {
            "name": version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema or {"type": "object", "properties": properties}},
            "subresources": {"status": {}},
            **more,
        }
    ]
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    }


# Kinds of other projects among what the operator makes: only their paths and names count here. x-k8s.io groups need no approval.
OTHERS = [
    definition("cert-manager.io", "issuers", "Issuer"),
    definition("cert-manager.io", "certificates", "Certificate"),
    definition("scheduling.volcano.sh", "podgroups", "PodGroup", "v1beta1"),
]

DEFINITIONS = [boats(), *OTHERS]
