"""Writes the manifests beside it, or prints one for a namespace of another name.

usage: python -m deploy.generate [NAMESPACE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from deploy.objects import TEAM_NAMESPACE, Object, cluster_wide, gates, old_clusters, single_namespace
from rayfleet.api.policies import rights_policy, spec_policies
from rayfleet.cli.output import dump_yaml

HERE = Path(__file__).resolve().parent
HEAD = "# {what}\n#   kubectl apply -f {file}\n# Written by `python -m deploy.generate`: change deploy/*.py instead.\n"


def manifests() -> dict[str, str]:
    """Each file's name and text."""
    whole = HEAD.format(what="rayfleet, looking after all namespaces.", file="deploy/rayfleet.yaml")
    one = HEAD.format(what="rayfleet, looking after its own namespace only.", file="deploy/rayfleet-namespaced.yaml")
    old = "Optional: RayClusters of cluster.ray.io, the Python operator's."
    gated = "Optional: the rights for networkPolicy and tlsOptions, where their feature gates are on."
    return {
        "rayfleet.yaml": whole + text(cluster_wide()),
        "rayfleet-namespaced.yaml": one + text(single_namespace()),
        "old-clusters.yaml": HEAD.format(what=old, file="deploy/old-clusters.yaml") + text(old_clusters()),
        "old-clusters-namespaced.yaml": HEAD.format(what=f"{old} Restart rayfleet after it.", file="deploy/old-clusters-namespaced.yaml")
        + text(old_clusters(TEAM_NAMESPACE, "Role")),
        "gates.yaml": HEAD.format(what=gated, file="deploy/gates.yaml") + text(gates()),
        "gates-namespaced.yaml": HEAD.format(what=gated, file="deploy/gates-namespaced.yaml") + text(gates(TEAM_NAMESPACE, "Role")),
    }


def policies() -> dict[str, str]:
    """As `manifests`, of what an API server may refuse by itself (Kubernetes 1.30 or later)."""
    spec = HEAD.format(what="Refuses at once what the operator would refuse later.", file="deploy/policies/spec.yaml")
    rights = HEAD.format(
        what="Optional: nobody makes by way of Ray objects what they could not make themselves. Who may `vouch` for a kind is trusted.",
        file="deploy/policies/rights.yaml",
    )
    return {"policies/spec.yaml": spec + text(spec_policies()), "policies/rights.yaml": rights + text(rights_policy())}


def text(objects: Iterable[Object]) -> str:
    return "".join("---\n" + dump_yaml(each) for each in objects)


def main() -> int:
    if len(sys.argv) > 1:
        print(text(single_namespace(sys.argv[1])), end="")
        return 0
    for name, content in (manifests() | policies()).items():
        (HERE / name).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
