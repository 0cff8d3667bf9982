"""Tokens of a Pod's service account, asked for by TokenRequest and bound to the Pod: they are void once it is gone.

https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#bound-service-account-tokens
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayfleet.api.meta import SERVICEACCOUNTS
from rayfleet.kube.client import Client
from rayfleet.kubelet.env import Source
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.status import seconds_of

DEFAULT_SECONDS = 3600
RENEWED_AT = 0.8  # of a token's life
RENEWED_AFTER = 24 * 3600.0  # seconds, however long it lives


def source(projection: Mapping[str, Any]) -> Source:
    """What a `serviceAccountToken` projection asks for."""
    return "token", f"{projection.get('expirationSeconds') or DEFAULT_SECONDS} {projection.get('audience') or ''}"


async def request(client: Client, pod: Pod, wanted: str) -> Mapping[str, str]:
    """`token` and `expires` (RFC 3339). Raises NotFound without the service account, or where no tokens are served; ApiError."""
    seconds, _, audience = wanted.partition(" ")
    meta = pod.metadata
    bound = {"kind": "Pod", "apiVersion": "v1", "name": meta.name, "uid": meta.uid}
    spec: dict[str, Any] = {"expirationSeconds": int(seconds), "boundObjectRef": bound, "audiences": [audience] if audience else []}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    account = pod.spec.get("serviceAccountName") or "default"
    answer = await client.create(SERVICEACCOUNTS, body, meta.namespace, name=account, subresource="token")
    return {"token": answer["status"]["token"], "expires": answer["status"]["expirationTimestamp"]}


def renew_at(sources: Mapping[Source, Mapping[str, str] | None], now: float) -> float | None:
    """When the first of the tokens must be replaced; None without tokens."""
    ends = [seconds_of(found["expires"]) for (kind, _), found in sources.items() if kind == "token" and found]
    return min(now + min((min(ends) - now) * RENEWED_AT, RENEWED_AFTER), min(ends)) if ends else None
