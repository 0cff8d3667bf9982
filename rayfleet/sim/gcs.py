"""A head's GCS that says what it was told to say, over real gRPC: for the tests of whoever speaks to one, and for measurements.

It behaves as Ray does where Ray was watched: versions rise with every answer, dead nodes stay listed, a busy node does not let itself be
drained as idle, and one that does is dead a moment later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import grpc

from rayfleet.ray.gcs import SERVICE
from rayfleet.ray.gcs_messages import DEAD, IDLE, IDLE_TERMINATION, RUNNING, message, parsed

METHODS = ("GetClusterResourceState", "GetClusterStatus", "ReportAutoscalingState", "RequestClusterResourceConstraint", "DrainNode")
BUSY = "The node to be idle terminated is no longer idle."


class ScriptedGcs(grpc.GenericRpcHandler):
    """`token`: what it wants to see ("": nothing). `absent`: it is of a time before the service. `silence`: calls are taken and not
    answered. `content`: the very bytes that it answers with in place of its state. `rejects`: why it lets no node go."""

    def __init__(self, session: str = "session_1", *, token: str = "", clock: Callable[[], float] = lambda: 0.0) -> None:
        self.session = session
        self.token = token
        self.absent = False
        self.silence = False
        self.content: bytes | None = None
        self.rejects = ""
        self.state = message("ClusterResourceState")
        self.reported: list[Any] = []
        self.drained: list[str] = []
        self.calls: list[str] = []
        self._idle_since: dict[bytes, float] = {}
        self._clock = clock
        self._server: grpc.aio.Server | None = None

    async def start(self, port: int = 0, *, host: str = "127.0.0.1", credentials: grpc.ServerCredentials | None = None) -> int:
        """Listen; gives the port."""
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)])
        self._server.add_generic_rpc_handlers((self,))
        place = f"{host}:{port}"
        found = self._server.add_secure_port(place, credentials) if credentials else self._server.add_insecure_port(place)
        await self._server.start()
        return int(found)

    async def stop(self) -> None:
        if self._server:
            await self._server.stop(None)

    def node(self, name: str, group: str, total: Mapping[str, float], *, status: int = IDLE, node_id: bytes = b"") -> Any:
        """A node that joined, with all of it free; to be changed by whoever added it."""
        found = self.state.node_states.add(
            node_id=node_id or name.encode(), instance_id=name, ray_node_type_name=group, status=status, node_ip_address="10.0.0.1"
        )
        for resource, amount in total.items():
            found.total_resources[resource] = found.available_resources[resource] = amount
        self._idle_since[found.node_id] = self._clock()
        return found

    def busy(self, node: Any) -> None:
        node.status = RUNNING
        for resource in node.total_resources:
            node.available_resources[resource] = 0.0
        self._idle_since.pop(node.node_id, None)

    def idle(self, node: Any, seconds: float = 0.0) -> None:
        """It has had nothing to do for so long."""
        node.status = IDLE
        for resource, amount in node.total_resources.items():
            node.available_resources[resource] = amount
        self._idle_since[node.node_id] = self._clock() - seconds

    def pending(self, count: int, **resources: float) -> Any:
        """So many tasks of that shape wait."""
        found = self.state.pending_resource_requests.add(count=count)
        for resource, amount in resources.items():
            found.request.resources_bundle[resource] = amount
        return found

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        method = details.method.removeprefix(SERVICE)
        if self.absent or method not in METHODS or not details.method.startswith(SERVICE):
            return None
        shown = dict(details.invocation_metadata or ())
        answer = getattr(self, f"_{method}")

        async def handle(request: bytes, context: Any) -> bytes:
            self.calls.append(method)
            if self.token and shown.get("authorization") != f"Bearer {self.token}":
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken: Authentication token is missing or incorrect")
            if shown.get("ray_cluster_id", self.session) != self.session:  # naming none is as good as the right one
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "WrongClusterID: the request is for another cluster")
            if self.silence:
                await asyncio.Event().wait()
            return bytes(answer(request))

        return grpc.unary_unary_rpc_method_handler(handle)

    def _now(self) -> Any:
        self.state.cluster_resource_state_version += 1
        self.state.cluster_session_name = self.session
        for node in self.state.node_states:
            node.node_state_version = self.state.cluster_resource_state_version
            node.idle_duration_ms = max(int((self._clock() - self._idle_since.get(node.node_id, self._clock())) * 1000), 0)
        return self.state

    def _GetClusterResourceState(self, request: bytes) -> bytes:  # noqa: N802 (the name on the wire)
        if self.content is not None:
            return self.content
        return message("GetClusterResourceStateReply", cluster_resource_state=self._now()).SerializeToString()

    def _GetClusterStatus(self, request: bytes) -> bytes:  # noqa: N802
        reply = message("GetClusterStatusReply", cluster_resource_state=self._now())
        if self.reported:
            reply.autoscaling_state.CopyFrom(self.reported[-1])
        return reply.SerializeToString()

    def _ReportAutoscalingState(self, request: bytes) -> bytes:  # noqa: N802
        self.reported.append(parsed("ReportAutoscalingStateRequest", request).autoscaling_state)
        return b""

    def _RequestClusterResourceConstraint(self, request: bytes) -> bytes:  # noqa: N802
        wanted = parsed("RequestClusterResourceConstraintRequest", request).cluster_resource_constraint
        del self.state.cluster_resource_constraints[:]
        self.state.cluster_resource_constraints.append(wanted)
        return b""

    def _DrainNode(self, request: bytes) -> bytes:  # noqa: N802
        asked = parsed("DrainNodeRequest", request)
        found = next((node for node in self.state.node_states if node.node_id == asked.node_id), None)
        if self.rejects or (found is not None and found.status == RUNNING and asked.reason == IDLE_TERMINATION):
            return message("DrainNodeReply", rejection_reason_message=self.rejects or BUSY).SerializeToString()
        if found is not None:
            found.status = DEAD
            self.drained.append(found.instance_id)
        return message("DrainNodeReply", is_accepted=True).SerializeToString()
