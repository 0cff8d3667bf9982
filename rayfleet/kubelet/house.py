"""What all workers share."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from rayfleet.api import labels
from rayfleet.api.meta import CONFIGMAPS, RAYCLUSTERS, SECRETS
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, NotFound
from rayfleet.kubelet import claims, tokens
from rayfleet.kubelet.cgroups import Cgroups
from rayfleet.kubelet.enforcer import Enforcer
from rayfleet.kubelet.env import Source
from rayfleet.kubelet.events import Events
from rayfleet.kubelet.images import Images, installed_python, installed_ray, mismatch
from rayfleet.kubelet.network import Network
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.settings import KubeletSettings


@dataclass(frozen=True, slots=True)
class House:
    settings: KubeletSettings
    client: Client
    network: Network
    events: Events
    web: aiohttp.ClientSession  # for probes; connections are not kept, as a probe must prove that a new one is accepted
    capacity: Mapping[str, str]  # of each node
    images: Images
    cgroups: Cgroups
    enforcer: Enforcer | None  # of NetworkPolicies, where nft is there
    starting: asyncio.Semaphore  # sandboxes made at the same time: more only wait for each other's processors

    async def fetch(self, pod: Pod, sources: Iterable[Source]) -> dict[Source, Mapping[str, str] | None]:
        """What the Pod may know of each; None for one that is not there. Raises ApiError."""
        wanted = list(sources)
        return dict(zip(wanted, await asyncio.gather(*(self.fetch_one(pod, source) for source in wanted)), strict=True))

    async def fetch_one(self, pod: Pod, source: Source) -> Mapping[str, str] | None:
        kind, name = source
        try:
            if kind == "token":
                return await tokens.request(self.client, pod, name)
            if kind == "claim":
                return await claims.bound(self.client, self.settings.claims, pod.metadata.namespace, name)
            found = await self.client.get(SECRETS if kind == "secret" else CONFIGMAPS, name, pod.metadata.namespace)
        except NotFound:
            return None
        decoded = {key: base64.b64decode(value).decode(errors="surrogateescape") for key, value in (found.get("binaryData") or {}).items()}
        for key, value in (found.get("data") or {}).items():
            decoded[key] = base64.b64decode(value).decode(errors="surrogateescape") if kind == "secret" else value
        return decoded

    async def mismatch(self, pod: Pod, spec: Mapping[str, Any], environment: Path) -> str:
        """A sentence where the container asks for something else than what stands for its image."""
        stated = await self.ray_version(pod, spec["name"])
        return mismatch(spec, installed_ray(environment), installed_python(environment), stated)

    async def ray_version(self, pod: Pod, container: str) -> str:
        """What the cluster says that its head's Ray is; "" of other containers, and where nobody says so. Not worth an error."""
        marks = pod.metadata.labels or {}
        if marks.get(labels.NODE_TYPE) != labels.HEAD or container != pod.spec["containers"][0]["name"]:
            return ""
        try:
            cluster = await self.client.get(RAYCLUSTERS, marks.get(labels.CLUSTER, ""), pod.metadata.namespace)
        except ApiError:
            return ""
        return str(cluster["spec"].get("rayVersion") or "")
