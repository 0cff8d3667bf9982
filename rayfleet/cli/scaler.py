"""What hosted autoscaling needs of the world: the heads' GCS, with the tokens and certificates that they want to see, and a judge."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rayfleet.api.meta import SECRETS, Key
from rayfleet.autoscaling.judge import Judge
from rayfleet.autoscaling.loop import Loop
from rayfleet.autoscaling.scaler import Scaler
from rayfleet.cli.dashboards import DEADLINE, Secret
from rayfleet.kube.client import Client
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import ApiError
from rayfleet.ray.gcs import Certificate, Gcs, Head
from rayfleet.resources.auth import KEY
from rayfleet.runtime.clock import SYSTEM

CERTIFICATE = ("ca.crt", "tls.crt", "tls.key")
"""As cert-manager names them."""


class HeadSecrets:
    """Each Secret is read when a head first wants it, and again after it was refused."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[Key, dict[str, bytes]] = {}

    async def token(self, head: Head) -> str:
        """Raises OSError."""
        return (await self._read(Key(head.cluster.namespace, head.token))).get(KEY, b"").decode(errors="replace")

    async def certificate(self, head: Head) -> Certificate:
        """Raises OSError."""
        data = await self._read(Key(head.cluster.namespace, head.certificate))
        return Certificate(*(data.get(name, b"") for name in CERTIFICATE))

    def refused(self, head: Head) -> None:
        for name in (head.token, head.certificate):
            self._known.pop(Key(head.cluster.namespace, name), None)

    async def _read(self, key: Key) -> dict[str, bytes]:
        if key not in self._known:
            try:
                found = await self._client.get(SECRETS, key.name, key.namespace, type=Secret)
                self._known[key] = {name: base64.b64decode(value) for name, value in found.data.items()}
            except (ApiError, binascii.Error) as error:
                raise OSError(f"the Secret {key.name} cannot be read: {error}") from error
        return self._known[key]


@asynccontextmanager
async def scaler(connection: Connection) -> AsyncIterator[Scaler]:
    """As long as the context lasts."""
    async with Client(connection, user_agent="rayfleet-operator", timeout=DEADLINE) as client:
        gcs = Gcs(HeadSecrets(client))
        loop = Loop(gcs, SYSTEM)
        found = Scaler(loop, Judge(tally=loop.tally))
        try:
            yield found
        finally:
            await found.loop.close()
            await gcs.close()
            found.judge.close()
