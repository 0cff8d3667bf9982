"""The node that the kubelet stands for: registered once, kept alive by renewing a Lease and nothing else.

https://kubernetes.io/docs/concepts/architecture/nodes/#heartbeats
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from rayfleet.api.meta import LEASES, NAMESPACES, NODES
from rayfleet.api.quantity import canonical, parse
from rayfleet.kube.client import Client
from rayfleet.kube.errors import AlreadyExists, ApiError, NotFound
from rayfleet.kubelet.status import time_text
from rayfleet.scheduling.objects import PRETENDS
from rayfleet.version import VERSION

log = logging.getLogger(__name__)
LEASE_NAMESPACE = "kube-node-lease"
SCHEME = "rayfleet.dev/kubelet-scheme"
BESIDE = "rayfleet.dev/beside"  # annotation of a node that shares its machine with another one
MOST_PODS = 1000
# From Kubernetes 1.36 on the API server then hands the WebSockets of exec, attach and port-forward on, and does not speak SPDY to us.
FEATURES = ("ExtendWebSocketsToKubelet",)
TROUBLES = ("MemoryPressure", "DiskPressure", "PIDPressure")  # which this kubelet does not look for


def capacity(nodes: int = 1) -> dict[str, str]:
    """What this machine has, or each of several nodes that share it: processors, memory, the disk of its root, Pods."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    disk = shutil.disk_usage("/").total
    return {
        "cpu": canonical(Fraction((os.cpu_count() or 1) * 1000 // nodes, 1000), False),
        "memory": f"{memory // 1024 // nodes}Ki",
        "pods": str(MOST_PODS),
        "ephemeral-storage": f"{disk // 1024 // nodes}Ki",
    }


def overcommitted(amounts: Mapping[str, str], factors: Mapping[str, float]) -> dict[str, str]:
    """What Pods may ask for: the amounts, each times its factor."""
    known = {name: parse(text) for name, text in amounts.items()}
    return {name: canonical(Fraction(int(one.amount * 1000 * Fraction(str(factors.get(name, 1)))), 1000), one.binary)
            for name, one in known.items()}  # fmt: skip


def node_object(name: str, scheme: str = "http", *, pretends: bool = False, beside: bool = False) -> dict[str, Any]:
    """`beside`: one of several nodes that are the same machine."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
    }
    annotations = {SCHEME: scheme} | ({PRETENDS: "true"} if pretends else {}) | ({BESIDE: "true"} if beside else {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {},
    }


def node_status(
    name: str,
    address: str,
    port: int,
    now: float,
    amounts: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    amounts = amounts or capacity()
    stamp = time_text(now)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    well = {"status": "False", "reason": "NotLookedFor", "message": "this kubelet does not look for it"}
    stamps = {"lastHeartbeatTime": stamp, "lastTransitionTime": stamp}
    return {
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "capacity": amounts,
        "allocatable": allocatable or amounts,
        "conditions": [*({"type": kind, **well, **stamps} for kind in TROUBLES), {**ready, **stamps}],
        "declaredFeatures": list(FEATURES),
        "nodeInfo": {
            "kubeletVersion": f"rayfleet-{VERSION}",
            "osImage": "this machine",
            "operatingSystem": "linux",
            "architecture": platform.machine(),
            "kernelVersion": platform.release(),
            "containerRuntimeVersion": f"rayfleet://{VERSION}",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kubeProxyVersion": "",
        },
    }


async def register(client: Client, body: Mapping[str, Any], status: Mapping[str, Any]) -> None:
    """Makes the Node, or brings the one that is there up to date. Raises ApiError."""
    name = body["metadata"]["name"]
    try:
        await client.create(NODES, body)
    except AlreadyExists:
        await client.patch(NODES, name, None, {"metadata": body["metadata"]})
    await client.patch(NODES, name, None, {"status": status}, subresource="status")


async def renew_for_ever(client: Client, node: str, seconds: float) -> None:
    """The heartbeat, at this interval. A failure is tried again at the next one."""
    while True:
        try:
            await renew(client, node, seconds)
        except ApiError as error:
            log.info("the node's lease could not be renewed: %s", error)
        await asyncio.sleep(seconds)


async def renew(client: Client, node: str, seconds: float) -> None:
    spec = {
        "holderIdentity": node,
        "leaseDurationSeconds": max(1, int(seconds * 4)),
        "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    try:
        await client.patch(LEASES, node, LEASE_NAMESPACE, {"spec": spec})
    except NotFound:
        await make_lease(client, node, spec)


async def make_lease(client: Client, node: str, spec: Mapping[str, Any]) -> None:
    lease = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": {"name": node, "namespace": LEASE_NAMESPACE}, "spec": spec}
    try:
        await client.create(LEASES, lease)
    except NotFound:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASE_NAMESPACE}})
        await client.create(LEASES, lease)
