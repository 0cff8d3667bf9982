"""The variable `authorizer`: asks who may do what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rayfleet.apiserver.auth import User
from rayfleet.apiserver.authorization import ACCOUNT, Attributes, permitted
from rayfleet.apiserver.cel.values import NoKey, NoOverload, Thing
from rayfleet.apiserver.policies.request import Request


class Authorizer(Thing):
    def __init__(self, request: Request, user: User | None = None) -> None:
        self._request = request
        self._user = user or request.user

    def has(self, name: str) -> bool:
        return name == "requestResource"

    def member(self, name: str) -> Any:
        if name != "requestResource":
            raise NoKey(name)
        request = self._request
        resource = f"{request.served.kind.plural}/{request.subresource}" if request.subresource else request.served.kind.plural
        return Question(request, self._user, Attributes("", request.served.group, resource, request.namespace, request.name))

    def call(self, name: str, given: Sequence[Any]) -> Any:
        if name == "serviceAccount" and len(given) == 2:
            namespace, account = given
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
            return Authorizer(self._request, User(f"{ACCOUNT}{namespace}:{account}", groups))
        if name == "group" and len(given) == 1:
            return Question(self._request, self._user, Attributes("", given[0], ""))
        if name == "path" and len(given) == 1:
            return Question(self._request, self._user, None)
        raise NoOverload


class Question(Thing):
    """What is to be checked, so far; None: a path, which only those may ask for who may do all."""

    def __init__(self, request: Request, user: User, about: Attributes | None) -> None:
        self._request = request
        self._user = user
        self._about = about

    def call(self, name: str, given: Sequence[Any]) -> Any:
        if len(given) != 1 or not isinstance(given[0], str):
            raise NoOverload
        if name == "check":
            return self._checked(given[0])
        if self._about is None:
            raise NoOverload
        if name == "subresource":
            changed = replace(self._about, resource=f"{self._about.resource}/{given[0]}")
        elif name in ("resource", "namespace", "name"):
            changed = replace(self._about, **{name: given[0]})
        elif name in ("fieldSelector", "labelSelector"):
            changed = self._about
        else:
            raise NoOverload
        return Question(self._request, self._user, changed)

    def _checked(self, verb: str) -> Decision:
        if self._about is None:
            return Decision("" if self._user.trusted else None)
        return Decision(permitted(self._request.api, self._user, replace(self._about, verb=verb)))


class Decision(Thing):
    def __init__(self, reason: str | None) -> None:
        self._reason = reason

    def call(self, name: str, given: Sequence[Any]) -> Any:
        answers = {"allowed": self._reason is not None, "reason": self._reason or "", "errored": False, "error": ""}
        if given or name not in answers:
            raise NoOverload
        return answers[name]
