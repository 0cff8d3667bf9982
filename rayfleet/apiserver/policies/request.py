"""One write, as policies see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rayfleet.apiserver.auth import User
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.registry import Served

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
SERVER = User("system:apiserver", ("system:masters",), trusted=True)


@dataclass(frozen=True)
class Request:
    """`obj` is None for a deletion, `old` for a creation."""

    api: Api
    served: Served
    operation: str
    namespace: str
    name: str
    obj: Obj | None
    old: Obj | None
    user: User = SERVER
    subresource: str = ""
    dry_run: bool = False

    def by(self, options: WriteOptions) -> Request:
        """The same, as it was asked for."""
        return replace(self, user=options.user or SERVER, subresource=options.subresource, dry_run=options.dry_run)

    @cached_property
    def home(self) -> Obj | None:
        """The namespace, as policies may see it."""
        record = self.api.store.get("namespaces", "", self.namespace) if self.namespace else None
        return record.decode() if record else None

    def described(self) -> Obj:
        """The variable `request`."""
        served = self.served
        kind = {"group": served.group, "version": served.version, "kind": served.kind.name}
        resource = {"group": served.group, "version": served.version, "resource": served.kind.plural}
        user = {"username": self.user.name, "uid": self.user.uid, "groups": list(self.user.groups), "extra": {}}
        return {
            "kind": kind,
            "resource": resource,
            "subResource": self.subresource,
            "requestKind": kind,
            "requestResource": resource,
            "requestSubResource": self.subresource,
            "name": self.name,
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": user,
            "dryRun": self.dry_run,
        }
