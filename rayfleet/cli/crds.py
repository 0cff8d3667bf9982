"""`rayfleet crds`."""

from __future__ import annotations

from typing import Any

import click

from rayfleet.cli.output import dump_json, dump_yaml


@click.command()
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option(
    "--policies", type=click.Choice(["spec", "rights"]), is_flag=False, flag_value="spec", help="Admission policies instead; see below."
)
@click.option("--old", is_flag=True, help="The definition of cluster.ray.io/v1 RayClusters instead.")
def command(output: str, policies: str | None, old: bool) -> None:
    """Print the CustomResourceDefinitions of the four kinds, or with --policies ValidatingAdmissionPolicies (Kubernetes 1.30 or later).

    \b
    spec    refuses at once what the operator would refuse later
    rights  lets nobody make by way of Ray objects what they could not make themselves (optional)

    \b
    Examples:
      rayfleet crds | kubectl apply -f -
      rayfleet crds --policies | kubectl apply -f -
    """
    found = manifests(policies, old)
    if output == "json":
        click.echo(dump_json({"apiVersion": "v1", "kind": "List", "items": list(found)}))
    else:
        click.echo("---\n".join(map(dump_yaml, found)), nl=False)


def manifests(policies: str | None, old: bool) -> tuple[dict[str, Any], ...]:
    from rayfleet.api.crds import crds
    from rayfleet.api.legacy.definition import old_crd
    from rayfleet.api.policies import rights_policy, spec_policies

    if old:
        return (old_crd(),)
    if policies is None:
        return crds()
    return spec_policies() if policies == "spec" else rights_policy()
