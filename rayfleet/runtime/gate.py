"""The one gate through which every write of the operator passes.

It is shut while another process leads, and a test can stand in it: between any two writes, before one leaves and after its answer came.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rayfleet.api.meta import SECRETS, ObjectMeta, Resource
from rayfleet.kube.client import Client
from rayfleet.kube.warnings import collected
from rayfleet.permit import Shut, permitted

UNCHANGED = ObjectMeta()


@dataclass(frozen=True, slots=True)
class Write:
    """`verb` is create, patch, status, resize or delete; `body` is the object, the merge patch, or of a resize the operations of a JSON
    patch; `uid` is what a delete insists on."""

    verb: str
    resource: Resource
    namespace: str
    name: str
    body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = field(default=None, repr=False)  # may be a Secret's
    uid: str = ""

    @property
    def is_secret(self) -> bool:
        """Then the answer is to say nothing of what is in it."""
        return self.resource == SECRETS


@dataclass(frozen=True, slots=True)
class Written:
    """The metadata that came back (empty after a delete), and what the API server warned of."""

    metadata: ObjectMeta
    warnings: tuple[str, ...] = ()


class Answer(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta = UNCHANGED


Hook = Callable[[str, Write], Awaitable[None]]
Told = Callable[[Write, str], None]


async def nothing(_: str, __: Write) -> None:
    """The hook of those who watch nothing."""


class Gate:
    """`is_open()` is asked before each write, and again in the moment when it leaves: it may have waited long for a connection, or the
    whole process may have stood still. `hook(when, write)` is awaited with "before" and "after".

    `told(write, outcome)` hears of each: "done" or "refused".
    """

    def __init__(
        self,
        client: Client,
        *,
        is_open: Callable[[], bool] = lambda: True,
        hook: Hook = nothing,
        told: Told = lambda write, outcome: None,
    ) -> None:
        self._client = client
        self._is_open = is_open
        self._hook = hook
        self._told = told

    async def send(self, write: Write) -> Written:
        """Raises Shut, or the API's refusal as ApiError."""
        await self._hook("before", write)
        self._insist()
        outcome = "refused"
        try:
            with collected() as warnings, permitted(self._insist):
                metadata = await self._carry(write)
            outcome = "done"
        finally:
            self._told(write, outcome)
        await self._hook("after", write)
        return Written(metadata, tuple(warnings))

    def _insist(self) -> None:
        if not self._is_open():
            raise Shut

    async def _carry(self, write: Write) -> ObjectMeta:
        client, resource = self._client, write.resource
        namespace = write.namespace or None
        if write.verb == "delete":
            # Without that word the Pods of a Job stay and go on working: batch/v1 orphans them by default.
            await client.delete(resource, write.name, namespace, uid=write.uid or None, propagation="Background")
            return UNCHANGED
        if write.verb == "create":
            answer = await client.create(resource, write.body or {}, namespace, type=Answer, metadata_only=write.is_secret)
        elif write.verb == "resize":
            answer = await client.patch(resource, write.name, namespace, write.body, kind="json", type=Answer)
        else:
            subresource = "status" if write.verb == "status" else None
            answer = await client.patch(
                resource, write.name, namespace, write.body, subresource=subresource, type=Answer, metadata_only=write.is_secret
            )
        return answer.metadata
