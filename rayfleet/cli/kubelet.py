"""`rayfleet kubelet`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rayfleet.kubelet.settings import KubeletSettings

HEARTBEAT = 10.0  # seconds: node controllers give a node up that has been silent for 40 or 50
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.option("--kubeconfig", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Whose Pods to run.")
@click.option("--state", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The one directory that is written to.")
@click.option("--node", default="local", show_default=True, metavar="NAME", help="The Node to register as.")
@click.option("--environment", metavar="DIR", type=click.Path(path_type=Path), help="The Python environment that stands for every image.")
@click.option("--api", metavar="HOST:PORT", default="10.88.0.1:6443", show_default=True, help="Where Pods find the API server.")
@click.option("--bind/--no-bind", default=True, show_default=True, help="Place Pods on this node where no scheduler does it.")
@click.option("--overcommit", multiple=True, metavar="RESOURCE=N", help="cpu=10: ten times the processors may be asked for.")
@click.option("--client-ca", metavar="FILE", type=FILE, help="Serve HTTPS, to callers whose certificate this authority signed.")
@click.option("--client-name", "callers", multiple=True, metavar="NAME", help="Of these only who is called so. May be given again.")
@click.option("--tls-cert", metavar="FILE", type=FILE, help="The certificate to show [default: one of its own making].")
@click.option("--tls-key", metavar="FILE", type=FILE, help="Its key.")
def command(**given: Any) -> None:
    """Run Pods of any API server as processes of this machine. Ends on SIGTERM; Pods live on, and a later start takes them over.

    It makes the bridge rf0 in the network namespace where it is started: give it one of its own. A Kubernetes control plane in it asks
    for logs, exec, attach and port-forward by HTTPS, showing its --kubelet-client-certificate: name that one's authority here.

    \b
    Examples:
      unshare --net --mount --pid --fork --mount-proc rayfleet kubelet --kubeconfig k.yaml --state /var/lib/rayfleet
      rayfleet kubelet --kubeconfig k.yaml --state /var/lib/rayfleet --api 127.0.0.1:6443 --client-ca /etc/kubernetes/pki/ca.crt
    """
    from rayfleet.kubelet.kubelet import run_kubelet

    asyncio.run(run_kubelet(settings_of(**given)))


def settings_of(
    kubeconfig: Path,
    state: Path,
    node: str,
    environment: Path | None,
    api: str,
    bind: bool,
    overcommit: tuple[str, ...],
    client_ca: Path | None,
    callers: tuple[str, ...],
    tls_cert: Path | None,
    tls_key: Path | None,
) -> KubeletSettings:
    """Raises BadParameter."""
    from rayfleet.kubelet.settings import KubeletSettings

    host, colon, port = api.rpartition(":")
    if not colon or not port.isdigit():
        raise click.BadParameter(f"{api!r} is no HOST:PORT, for example 10.88.0.1:6443", param_hint="--api")
    if (tls_cert is None) != (tls_key is None):
        raise click.BadParameter("a certificate and its key go together", param_hint="--tls-cert, --tls-key")
    if callers and client_ca is None:
        raise click.BadParameter("names mean nothing without an authority: give --client-ca too", param_hint="--client-name")
    return KubeletSettings(
        kubeconfig=kubeconfig.resolve(),
        state=state.resolve(),
        environment=(environment or Path(sys.prefix)).resolve(),
        node=node,
        api=(host, int(port)),
        bind=bind,
        overcommit=overcommitted(overcommit),
        lease_seconds=HEARTBEAT,
        tls=bool(client_ca or tls_cert),
        tls_cert=tls_cert,
        tls_key=tls_key,
        client_ca=client_ca,
        callers=callers,
    )


def overcommitted(given: tuple[str, ...]) -> dict[str, float]:
    """Raises BadParameter."""
    from rayfleet.local.machine import factors_of

    try:
        return factors_of({name: float(factor) for name, _, factor in (each.partition("=") for each in given)})
    except ValueError as error:
        raise click.BadParameter(f"{error}; say, for example, cpu=10", param_hint="--overcommit") from error
