"""The client of one simulated operator: the calls of `rayfleet.kube.Client`, answered by the store after a while, with the day's faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from rayfleet.api.meta import Key, Resource
from rayfleet.kube.errors import ApiError, NotFound, Unreachable
from rayfleet.permit import Shut
from rayfleet.ray.answer import Act, Question, Target
from rayfleet.sim.faults import RAY
from rayfleet.sim.store import Obj, Request, owner_uid

if TYPE_CHECKING:
    from rayfleet.sim.leader import Leader


class SimClient:
    """Only what the runtime's gate and its look-ups call."""

    def __init__(self, leader: Leader, latency: Callable[[], float]) -> None:
        self.leader = leader
        self.latency = latency

    async def create(
        self, resource: Resource, body: Mapping[str, Any], namespace: str | None = None, *, type: Any = dict, metadata_only: bool = False
    ) -> Any:
        answer = await self.send(Request(self.leader.name, "create", resource, namespace or "", body["metadata"]["name"], body))
        return msgspec.convert(answer, type)

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        kind: str = "merge",
        subresource: str | None = None,
        type: Any = dict,
        metadata_only: bool = False,
    ) -> Any:
        if kind == "json":
            version = next(each["value"] for each in body if each["path"] == "/metadata/resourceVersion")
            operations = {"operations": list(body)}
            resize = Request(self.leader.name, "resize", resource, namespace or "", name, operations, resource_version=version)
            return msgspec.convert(await self.send(resize), type)
        meta: Mapping[str, Any] = (body or {}).get("metadata") or {}
        request = Request(
            self.leader.name,
            "patch",
            resource,
            namespace or "",
            name,
            body or {},
            subresource or "",
            meta.get("uid", ""),
            meta.get("resourceVersion", ""),
        )
        return msgspec.convert(await self.send(request), type)

    async def delete(
        self, resource: Resource, name: str, namespace: str | None = None, *, uid: str | None = None, propagation: str = ""
    ) -> None:
        await self.send(Request(self.leader.name, "delete", resource, namespace or "", name, uid=uid or "", propagation=propagation))

    async def get(self, resource: Resource, name: str, namespace: str | None = None, *, type: Any = dict) -> Any:
        world, leader = self.leader.world, self.leader
        await leader.clock.sleep(self.latency())
        fault = world.faults.strike(Request(leader.name, "get", resource, namespace or "", name))
        if fault in ("crash-before", "crash-after"):
            world.crashed(leader)
            raise Shut
        if isinstance(fault, ApiError):
            raise fault
        found = world.store.get(resource, Key(namespace or "", name))
        await leader.clock.sleep(self.latency())
        if fault == "lost-response":
            raise Unreachable("the answer was lost")
        if found is None:
            raise NotFound(404, "NotFound", f'{resource.plural} "{name}" not found')
        return msgspec.convert(found, type)

    async def ask(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        """One call to Ray, as `ray.pool.Ask` has it. What changes nothing there meets no fault but those of Ray itself."""
        world, leader = self.leader.world, self.leader
        await leader.clock.sleep(self.latency())
        if not leader.alive:
            raise OSError("this process has died")
        request = Request(leader.name, verb_of(call), RAY, *target.cluster)
        fault = world.faults.strike(request) if isinstance(call, Act) else None
        if fault == "crash-before":
            world.crashed(leader)
            raise OSError("this process has died")
        if isinstance(fault, Unreachable):
            raise TimeoutError("no answer")
        if isinstance(fault, ApiError):
            return fault.status, str(fault).encode()
        answer = await world.rays.ask(target, call)
        if fault == "crash-after":
            world.crashed(leader)
            raise OSError("this process has died")
        await leader.clock.sleep(self.latency())
        if fault == "lost-response":
            raise TimeoutError("the answer was lost")
        return answer

    async def send(self, request: Request) -> Obj:
        """One write. Raises ApiError as the store or a fault will have it, and Shut when this process has died meanwhile."""
        world, leader = self.leader.world, self.leader
        await leader.clock.sleep(self.latency())
        if not leader.alive:
            raise Shut
        fault = world.faults.strike(request)
        if fault == "crash-before":
            world.crashed(leader)
            raise Shut
        if isinstance(fault, ApiError):
            world.store.refuse(request, fault)
        answer = world.store.do(request)
        if fault == "crash-after":
            world.crashed(leader)
            raise Shut
        await leader.clock.sleep(self.latency())
        leader.wrote(request, answer)
        if fault == "lost-response":
            raise Unreachable("the answer was lost")
        if request.verb == "create":
            leader.seen.setdefault((owner_uid(answer), request.name), world.clock.now)
        return answer


def verb_of(call: Question | Act) -> str:
    """What a call asks of Ray."""
    if isinstance(call, Question):
        return "ask"
    return "put" if call.method == "PUT" else "stop" if call.path.endswith("/stop") else "submit"
