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
from typing import Any

from rayfleet.api.meta import LEASES, NAMESPACES, NODES
from rayfleet.kube.client import Client
from rayfleet.kube.errors import AlreadyExists, ApiError, NotFound
from rayfleet.kubelet.status import time_text
from rayfleet.version import VERSION

log = logging.getLogger(__name__)
LEASE_NAMESPACE = "kube-node-lease"
SCHEME = "rayfleet.dev/kubelet-scheme"
MOST_PODS = 1000
# From Kubernetes 1.36 on the API server then hands the WebSockets of exec, attach and port-forward on, and does not speak SPDY to us.
FEATURES = ("ExtendWebSocketsToKubelet",)
TROUBLES = ("MemoryPressure", "DiskPressure", "PIDPressure")  # which this kubelet does not look for


def capacity() -> dict[str, str]:
    """What this machine has: processors, memory, the disk of its root, Pods."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    disk = shutil.disk_usage("/").total
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory // 1024}Ki",
        "pods": str(MOST_PODS),
        "ephemeral-storage": f"{disk // 1024}Ki",
    }


def node_object(name: str, scheme: str = "http") -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {SCHEME: scheme}},
        "spec": {},
    }


def node_status(name: str, address: str, port: int, now: float) -> dict[str, Any]:
    amounts = capacity()
    stamp = time_text(now)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    well = {"status": "False", "reason": "NotLookedFor", "message": "this kubelet does not look for it"}
    stamps = {"lastHeartbeatTime": stamp, "lastTransitionTime": stamp}
    return {
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "capacity": amounts,
        "allocatable": amounts,
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
        "leaseDurationSeconds": int(seconds * 4),
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
