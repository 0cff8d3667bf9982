"""`rayfleet kubelet`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click


@click.command()
@click.option("--kubeconfig", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Whose Pods to run.")
@click.option("--state", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The one directory that is written to.")
@click.option("--node", default="local", show_default=True, metavar="NAME", help="The Node to register as.")
@click.option("--environment", metavar="DIR", type=click.Path(path_type=Path), help="The Python environment that stands for every image.")
@click.option("--api", metavar="HOST:PORT", default="10.88.0.1:6443", show_default=True, help="Where Pods find the API server.")
def command(kubeconfig: Path, state: Path, node: str, environment: Path | None, api: str) -> None:
    """Run Pods of any API server as processes of this machine. Ends on SIGTERM; Pods live on, and a later start takes them over.

    It makes the bridge rf0 in the network namespace where it is started: give it one of its own.

    \b
    Example:
      unshare --net --mount --pid --fork --mount-proc rayfleet kubelet --kubeconfig k.yaml --state /var/lib/rayfleet
    """
    from rayfleet.kubelet.kubelet import run_kubelet
    from rayfleet.kubelet.settings import KubeletSettings

    host, colon, port = api.rpartition(":")
    if not colon or not port.isdigit():
        raise click.BadParameter(f"{api!r} is no HOST:PORT, for example 10.88.0.1:6443", param_hint="--api")
    settings = KubeletSettings(
        kubeconfig=kubeconfig.resolve(),
        state=state.resolve(),
        environment=(environment or Path(sys.prefix)).resolve(),
        node=node,
        api=(host, int(port)),
    )
    asyncio.run(run_kubelet(settings))
