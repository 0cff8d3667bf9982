"""Answers Certificates as cert-manager does: the Secret first, then the status."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any

import msgspec

from rayfleet.api.meta import CERTIFICATES, ISSUERS, SECRETS, Key, ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.kube.errors import ApiError, NotFound
from rayfleet.runtime.informer import Informer
from tests.issuer.authority import Issued, issue

NAME = "cert-manager.io/certificate-name"
AGAIN = 0.2
ELSEWHERE = {"dnsNames": ["elsewhere.example.test"], "ipAddresses": ["192.0.2.1"]}


class Mood(Enum):
    """How the issuer answers: as it should, not at all, that it cannot, or with a certificate for another host."""

    WILLING = "willing"
    SILENT = "silent"
    FAILING = "failing"
    MISTAKEN = "mistaken"


class Found(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class FakeIssuer:
    """`run` it in a task."""

    def __init__(self, client: Client, mood: Mood = Mood.WILLING) -> None:
        self.client, self.mood = client, mood
        self.certificates: Informer[Found] = Informer(client, CERTIFICATES, Found)
        self.secrets: Informer[Found] = Informer(client, SECRETS, Found, metadata_only=True)
        self.due: asyncio.Queue[Key] = asyncio.Queue()
        self.certificates.subscribe(lambda old, new: self.due.put_nowait(new.metadata.key) if new else None)
        self.secrets.subscribe(self.lost)

    def turn(self, mood: Mood) -> None:
        """In another mood it looks at everything again."""
        self.mood = mood
        for found in self.certificates.values():
            self.due.put_nowait(found.metadata.key)

    def lost(self, old: Found | None, new: Found | None) -> None:
        if old is not None and new is None and (name := old.metadata.annotation(NAME)):
            self.due.put_nowait(Key(old.metadata.namespace, name))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.certificates.run())
            group.create_task(self.secrets.run())
            await self.secrets.synced()
            while True:
                await self.answer(await self.due.get())

    async def answer(self, key: Key) -> None:
        found = self.certificates.get(*key)
        if found is None or self.mood is Mood.SILENT or self.is_answered(found):
            return
        try:
            if self.mood is Mood.FAILING:
                await self.tell(found, ready="False", issuing="The issuer refuses: quota exceeded")
            else:
                await self.issue(found)
        except NotFound:  # its CA's Secret, or the Certificate itself
            asyncio.get_running_loop().call_later(AGAIN, self.due.put_nowait, key)
        except ApiError as error:
            print(f"{key}: {error}", flush=True)
            asyncio.get_running_loop().call_later(AGAIN, self.due.put_nowait, key)

    def is_answered(self, found: Found) -> bool:
        told = {each["type"]: each for each in found.status.get("conditions") or ()}
        current = told.get("Ready", {}).get("observedGeneration") == found.metadata.generation
        there = self.secrets.get(found.metadata.namespace, found.spec["secretName"]) is not None
        return current and (there or self.mood is Mood.FAILING)

    async def issue(self, found: Found) -> None:
        spec = {**found.spec, **(ELSEWHERE if self.mood is Mood.MISTAKEN and not found.spec.get("isCA") else {})}
        issued = await asyncio.to_thread(issue, spec, await self.signer(found))
        await self.store(found, issued)
        await self.tell(found, ready="True", not_after=issued.expires.strftime("%Y-%m-%dT%H:%M:%SZ"))

    async def signer(self, found: Found) -> Issued | None:
        """Raises NotFound before its own certificate is issued."""
        issuer = await self.client.get(ISSUERS, found.spec["issuerRef"]["name"], found.metadata.namespace)
        if "ca" not in issuer["spec"]:
            return None
        secret = await self.client.get(SECRETS, issuer["spec"]["ca"]["secretName"], found.metadata.namespace)
        certificate, key = (base64.b64decode(secret["data"][name]) for name in ("tls.crt", "tls.key"))
        return Issued(certificate, key, certificate)

    async def store(self, found: Found, issued: Issued) -> None:
        files = {"tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": issued.ca}
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        template: Mapping[str, Any] = found.spec.get("secretTemplate") or {}
        name, namespace = found.spec["secretName"], found.metadata.namespace
        metadata = {"labels": template.get("labels") or {}, "annotations": {NAME: found.metadata.name}}
        try:
            await self.client.patch(SECRETS, name, namespace, {"metadata": metadata, "data": data})
        except NotFound:
            body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data}
            await self.client.create(SECRETS, {**body, "metadata": {"name": name, "namespace": namespace, **metadata}})

    async def tell(self, found: Found, *, ready: str, issuing: str = "", not_after: str = "") -> None:
        generation = found.metadata.generation
        conditions = [{"type": "Ready", "status": ready, "reason": "Ready", "observedGeneration": generation}]
        if issuing:
            conditions.append({"type": "Issuing", "status": "False", "reason": "Failed", "message": issuing})
        status = {"conditions": conditions, **({"notAfter": not_after} if not_after else {})}
        await self.client.patch(CERTIFICATES, found.metadata.name, found.metadata.namespace, {"status": status}, subresource="status")


@asynccontextmanager
async def issuing(client: Client, mood: Mood = Mood.WILLING) -> AsyncIterator[FakeIssuer]:
    """One at work while this lasts."""
    issuer = FakeIssuer(client, mood)
    task = asyncio.create_task(issuer.run())
    try:
        yield issuer
    finally:
        task.cancel()
        await asyncio.wait([task])
