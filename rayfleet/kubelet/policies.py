"""NetworkPolicies: nobody enforces them here, and whoever reads one is told so by an event on it."""

from __future__ import annotations

import msgspec

from rayfleet.api.meta import NETWORKPOLICIES, ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.kubelet.events import Events
from rayfleet.runtime.informer import Informer

NOTE = "NetworkPolicies are stored and not enforced in a local fleet: every Pod reaches every other"


class Policy(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta


class Policies:
    def __init__(self, client: Client, events: Events) -> None:
        self.events = events
        self.informer: Informer[Policy] = Informer(client, NETWORKPOLICIES, Policy, required=False, metadata_only=True)
        self.informer.subscribe(self.heed)

    async def run(self) -> None:
        """Until cancelled."""
        await self.informer.run()

    def heed(self, old: Policy | None, new: Policy | None) -> None:
        if old is None and new is not None:
            self.events.record(new, "Warning", "NotEnforced", NOTE, NETWORKPOLICIES)
