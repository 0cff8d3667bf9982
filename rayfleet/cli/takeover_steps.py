"""The steps from KubeRay to rayfleet and back, with the names that the cluster shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rayfleet.api.meta import Resource
from rayfleet.runtime.lease import NAME
from rayfleet.runtime.rivals import WATCHES

if TYPE_CHECKING:
    from rayfleet.kube.client import Client

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
NAMES = ("kuberay-operator", "kuberay")  # as its chart and its kustomization label it
HOME = "rayfleet-system"
OURS = "app.kubernetes.io/name=rayfleet"


class Deployed(NamedTuple):
    """A Deployment of KubeRay's operator."""

    namespace: str
    name: str
    replicas: int


async def deployments(client: Client) -> list[Deployed] | None:
    """Those of KubeRay, in all namespaces; None when they may not be listed."""
    from rayfleet.kube.errors import Forbidden, NotFound

    try:
        found = await client.list(DEPLOYMENTS)
    except Forbidden:
        return None
    except NotFound:  # an embedded API has no Deployments
        return []
    peers = [each for each in found if (each["metadata"].get("labels") or {}).get("app.kubernetes.io/name") in NAMES]
    return [Deployed(each["metadata"]["namespace"], each["metadata"]["name"], each["spec"].get("replicas", 1)) for each in peers]


def steps(peers: list[Deployed] | None, namespace: str | None) -> list[dict[str, Any]]:
    """`namespace`: the one that is to move; None: all."""
    known = peers or [Deployed("KUBERAY-NAMESPACE", "kuberay-operator", 1)]
    scope, home = (f"-n {namespace}", namespace) if namespace else ("-A", HOME)
    stop = [line for peer in known for line in (leave(peer, namespace) if namespace else halt(peer))]
    back = [f"kubectl -n {home} scale deployment/rayfleet --replicas=0", f"kubectl -n {home} wait --for=delete pod -l {OURS} --timeout=60s"]
    back += [go_on(peer, namespace) for peer in known]
    ready = f"kubectl -n {home} rollout status deployment/rayfleet"
    apply = f"python -m deploy.generate {namespace} | kubectl apply -f -" if namespace else "kubectl apply -f deploy/rayfleet.yaml"
    return [
        step("look", "It must say that nothing would change.", f"rayfleet migrate check {scope}"),
        step("let KubeRay stop", stop_told(peers), *stop),
        step("install rayfleet", INSTALL, apply),
        step("verify", VERIFY, ready, f"kubectl get rayclusters {scope}", f"rayfleet migrate check {scope}"),
        step("go back, if need be", "The same in the other order; KubeRay finds its Pods as it left them.", *back),
    ]


INSTALL = (
    "Its definitions replace KubeRay's without touching an object; leave them out, and KubeRay's go on serving. "
    "Give it KubeRay's feature gates and configuration."
)
VERIFY = "Pods keep their names and ages; each RayCluster gets one status write, with the condition Valid."


def step(title: str, why: str, *commands: str) -> dict[str, Any]:
    return {"step": title, "why": why, "commands": list(commands)}


def stop_told(peers: list[Deployed] | None) -> str:
    if peers is None:
        return "Deployments of other namespaces may not be read here: put in the names of KubeRay's."
    if not peers:
        return "No Deployment carries KubeRay's labels: put in the names of its own, if there is one."
    return "Two operators would wait for each other's lease, not fight; Ray's Pods run on meanwhile."


def halt(peer: Deployed) -> Iterator[str]:
    yield f"kubectl -n {peer.namespace} scale deployment/{peer.name} --replicas=0"
    yield f"kubectl -n {peer.namespace} rollout status deployment/{peer.name}"


def leave(peer: Deployed, namespace: str) -> Iterator[str]:
    """KubeRay goes on elsewhere. Its lease does not say where, so an administrator says it."""
    rest = f"ALL-BUT-{namespace.upper()}"
    yield f"kubectl -n {peer.namespace} edit deployment/{peer.name}   # --watch-namespace={rest}"
    yield f"kubectl -n {peer.namespace} annotate lease/{NAME} {WATCHES}={rest}"


def go_on(peer: Deployed, namespace: str | None) -> str:
    words = "rollout undo" if namespace else "scale"
    count = "" if namespace else f" --replicas={max(peer.replicas, 1)}"
    return f"kubectl -n {peer.namespace} {words} deployment/{peer.name}{count}"


def lines_of(found: list[dict[str, Any]]) -> Iterator[str]:
    for number, each in enumerate(found, 1):
        yield f"{number}. {each['step']}: {each['why']}"
        yield from (f"     {command}" for command in each["commands"])
