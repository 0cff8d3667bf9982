"""Speaks to the autoscaler's side of the GCS of many heads over plain gRPC: one channel to each, made when it is first needed.

Never Ray's own client, which ends its process a minute after a GCS has gone. No call names a cluster's id: a head that was replaced is then
simply spoken to again, and the session in its answer says that it is another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rayfleet.api.meta import Key
from rayfleet.permit import insist

if TYPE_CHECKING:
    import grpc  # type: ignore[import-untyped]

SERVICE = "/ray.rpc.autoscaler.AutoscalerStateService/"
MOST = 8 * 1024 * 1024
DEADLINE = 5.0
SILENCES = 2  # calls without an answer after which a connection counts as half open, and another one is made


@dataclass(frozen=True, slots=True)
class Head:
    """Where the GCS of a cluster listens, by the address of the head's Pod, which is new with each head. `token` and `certificate` name
    Secrets in the cluster's namespace ("": none is wanted), `host` is the name that its certificate carries, `pod` the UID of the Pod."""

    cluster: Key
    address: str
    port: int = 6379
    token: str = ""
    certificate: str = ""
    host: str = ""
    pod: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM. Ray's TLS is mutual: whoever calls shows a certificate of the cluster's own authority."""

    authority: bytes
    chain: bytes
    key: bytes


class Refused(Exception):
    """The GCS answered, with an error. `code` is gRPC's name of it."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code = code
        self.text = text


class Unanswered(OSError):
    """No answer in time, or nobody there."""


class Secrets(Protocol):
    """What a head wants to see; both raise OSError. `refused`: it wanted to see something else, or is gone: forget what was read."""

    async def token(self, head: Head) -> str: ...
    async def certificate(self, head: Head) -> Certificate: ...
    def refused(self, head: Head) -> None: ...


@dataclass(slots=True)
class Line:
    """One channel, and how many calls in a row it left without an answer."""

    head: Head
    channel: grpc.aio.Channel
    calls: dict[str, Callable[..., Awaitable[bytes]]]
    silences: int = 0


class Gcs:
    """Calls carry and give bytes of the messages in `gcs_messages`. All raise `Unanswered` or `Refused`, and nothing of gRPC's own."""

    def __init__(self, secrets: Secrets, deadline: float = DEADLINE) -> None:
        self._secrets = secrets
        self._deadline = deadline
        self._lines: dict[Key, Line] = {}

    async def state(self, head: Head) -> bytes:
        """GetClusterResourceStateReply: nodes and what waits for room."""
        return await self._call(head, "GetClusterResourceState", b"")

    async def status(self, head: Head) -> bytes:
        """GetClusterStatusReply: the same, and what was last reported."""
        return await self._call(head, "GetClusterStatus", b"")

    async def report(self, head: Head, request: bytes) -> None:
        """Tell what `ray status` is to show. `request`: ReportAutoscalingStateRequest."""
        await self._call(head, "ReportAutoscalingState", request)

    async def drain(self, head: Head, request: bytes) -> bytes:
        """DrainNodeRequest; gives DrainNodeReply."""
        return await self._call(head, "DrainNode", request)

    async def constrain(self, head: Head, request: bytes) -> None:
        """Ask for room as `ray.autoscaler.sdk.request_resources` does. `request`: RequestClusterResourceConstraintRequest."""
        await self._call(head, "RequestClusterResourceConstraint", request)

    async def leave(self, head: Head) -> None:
        """The head is not called any more: nothing of it is kept. A channel to another head of its cluster stays."""
        self._secrets.refused(head)
        await self._hang_up(head)

    async def _hang_up(self, head: Head) -> None:
        line = self._lines.get(head.cluster)
        if line is not None and line.head == head:
            del self._lines[head.cluster]
            await line.channel.close()

    async def close(self) -> None:
        for line in list(self._lines.values()):
            await self.leave(line.head)

    async def _call(self, head: Head, method: str, request: bytes) -> bytes:
        import grpc

        line = await self._line(head)
        metadata = (("authorization", f"Bearer {await self._secrets.token(head)}"),) if head.token else None
        insist()
        try:
            answer = await self._method(line, method)(request, timeout=self._deadline, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise await self._failed(line, error) from error
        except grpc.aio.UsageError as error:  # the channel was closed meanwhile: the cluster has another head, or is gone
            raise Unanswered(str(error)) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise Unanswered("the connection was closed meanwhile") from None
        line.silences = 0
        return answer

    def _method(self, line: Line, name: str) -> Callable[..., Awaitable[bytes]]:
        found = line.calls.get(name)
        if found is None:
            found = line.calls[name] = line.channel.unary_unary(SERVICE + name)
        return found

    async def _line(self, head: Head) -> Line:
        line = self._lines.get(head.cluster)
        if line is not None and line.head == head:
            return line
        if line is not None:
            await self._hang_up(line.head)
        made = Line(head, await self._channel(head), {})
        line = self._lines.setdefault(head.cluster, made)
        if line is not made:  # another call was as quick
            await made.channel.close()
        return line

    async def _channel(self, head: Head) -> grpc.aio.Channel:
        import grpc

        place = f"[{head.address}]:{head.port}" if ":" in head.address else f"{head.address}:{head.port}"
        if not head.certificate:
            return grpc.aio.insecure_channel(place, options=options())
        shown = await self._secrets.certificate(head)
        credentials = grpc.ssl_channel_credentials(shown.authority, shown.key, shown.chain)
        return grpc.aio.secure_channel(place, credentials, options=options(head.host))

    async def _failed(self, line: Line, error: grpc.aio.AioRpcError) -> Exception:
        """What to raise. A refused token or certificate is read again, a connection that stays silent is given up."""
        import grpc

        code, text = error.code(), (error.details() or "")[:1024]
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            line.silences += 1
            if line.silences >= SILENCES and self._lines.get(line.head.cluster) is line:
                await self._hang_up(line.head)
            return Unanswered(f"no answer within {self._deadline:g} s")
        if code == grpc.StatusCode.UNAVAILABLE:
            if line.head.certificate:
                self._secrets.refused(line.head)
                await self._hang_up(line.head)
            return Unanswered(text or "nobody answers")
        if code == grpc.StatusCode.UNAUTHENTICATED:
            self._secrets.refused(line.head)
        if code == grpc.StatusCode.CANCELLED:
            return Unanswered("the call was given up")
        return Refused(code.name, text)


def options(host: str = "") -> list[tuple[str, Any]]:
    """No proxy of the environment and no shared connection stands between a cluster and its head; one that is back is found soon."""
    found: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", MOST),
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 500),
        ("grpc.max_reconnect_backoff_ms", 5000),
    ]
    return [*found, ("grpc.ssl_target_name_override", host)] if host else found
