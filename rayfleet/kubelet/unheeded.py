"""Objects that are stored and that nobody acts on here: whoever reads one is told so by an event on it and on what made it."""

from __future__ import annotations

import asyncio

import msgspec

from rayfleet.api.meta import INGRESSES, NETWORKPOLICIES, ObjectMeta, Resource, controller_of
from rayfleet.kube.client import Client
from rayfleet.kubelet.events import Events
from rayfleet.runtime.informer import Informer

UNENFORCED = (
    NETWORKPOLICIES,
    "NotEnforced",
    "NetworkPolicies are stored and not enforced, as the program nft is not there: every Pod reaches every other. Once it is installed "
    "(Debian and Ubuntu: apt-get install nftables) they are, from the fleet's next start on",
)
UNSERVED = (
    INGRESSES,
    "NotServed",
    "Ingresses are stored and served by nobody in a local fleet: `rayfleet status` shows where heads' dashboard and Serve are on this "
    "machine, and node ports are there too",
)


class Unheeded(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta


class Teller:
    """`enforced`: NetworkPolicies are."""

    def __init__(self, client: Client, events: Events, *, enforced: bool) -> None:
        self.events = events
        self.informers = [self.follow(client, *each) for each in ((UNSERVED,) if enforced else (UNENFORCED, UNSERVED))]

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.informers:
                group.create_task(informer.run())

    def follow(self, client: Client, kind: Resource, reason: str, note: str) -> Informer[Unheeded]:
        def heed(old: Unheeded | None, new: Unheeded | None) -> None:
            if old is None and new is not None:
                self.events.record(new, "Warning", reason, note, kind)
                self.tell_owner(new.metadata, reason, note)

        informer: Informer[Unheeded] = Informer(client, kind, Unheeded, required=False, metadata_only=True)
        informer.subscribe(heed)
        return informer

    def tell_owner(self, meta: ObjectMeta, reason: str, note: str) -> None:
        if (owner := controller_of(meta)) is None:
            return
        group, _, version = owner.api_version.rpartition("/")
        about = Unheeded(ObjectMeta(name=owner.name, namespace=meta.namespace, uid=owner.uid))
        self.events.record(about, "Warning", reason, note, Resource(group, version, "", owner.kind))
