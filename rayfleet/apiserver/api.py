"""The state that every verb works on: store, served kinds, clock, dice. Synchronous, so usable without HTTP and with a virtual clock."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

from rayfleet.apiserver import builtin, custom
from rayfleet.apiserver.account_token import new_key
from rayfleet.apiserver.addresses import Addresses
from rayfleet.apiserver.record import DELETED, Change, Obj
from rayfleet.apiserver.registry import Registry
from rayfleet.apiserver.store import Store

NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Api:
    """`clock` gives seconds since the epoch; `dice` makes uids and generated names (a seeded Random makes them repeatable).

    `authority`: the certificate (PEM) by which Pods know this server; empty when it has none.
    `key` signs the tokens of service accounts; without one they are void after a restart.
    `kubelet_token` is what kubelets are shown.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        dice: random.Random | None = None,
        authority: str = "",
        key: bytes = b"",
        kubelet_token: str = "",
    ) -> None:
        self.store = store
        self.authority = authority
        self.key = key or new_key()
        self.kubelet_token = kubelet_token
        self.clock = clock
        self.dice = dice or random.SystemRandom()
        self.registry = Registry()
        for kind in builtin.kinds():
            self.registry.add(kind)
        store.load(self._fields)
        for record in store.select(custom.DEFINITIONS):
            if custom.is_served(definition := record.decode()):
                self._serve(definition)
        self.addresses = Addresses(record.decode() for record in store.select("services"))
        store.on_stage.append(self._follow)

    def uid(self) -> str:
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))

    def generated_name(self, prefix: str) -> str:
        return prefix[:58] + "".join(self.dice.choice(NAME_ALPHABET) for _ in range(5))

    def _fields(self, resource: str, obj: Obj) -> dict[str, str]:
        kind = self.registry.kind(resource)
        return kind.fields(obj) if kind else {}

    def _serve(self, definition: Obj) -> None:
        kind = custom.kind_of(definition)
        self.registry.add(kind)
        if kind.known_fields:
            self.store.index_again(kind.resource)

    def _follow(self, change: Change) -> None:
        record = change.record
        if record.resource == custom.DEFINITIONS:
            definition = record.decode()
            if change.type == DELETED:
                self.registry.remove(record.name)
            elif custom.is_served(definition):
                self._serve(definition)
        elif record.resource == "services":
            if change.previous is not None:
                self.addresses.release(change.previous.decode())
            if change.type != DELETED:
                self.addresses.take(record.decode())
