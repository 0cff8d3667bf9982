"""Who asks: bearer tokens, and the reviews that others ask for."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import unauthorized


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()


class Tokens:
    """Bearer token -> user. Every known user may do everything: this is one person's fleet."""

    def __init__(self, users: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        self._users = {token.encode(): User(name, tuple(groups)) for token, (name, groups) in users.items()}

    def user(self, token: str) -> User | None:
        """Compared in constant time: the answer's delay tells nothing about a token."""
        given, found = token.encode(), None
        for known, user in self._users.items():
            if hmac.compare_digest(known, given):
                found = user
        return found

    def authenticate(self, authorization: str) -> User:
        """Raises 401."""
        scheme, _, token = authorization.partition(" ")
        user = self.user(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user


def review_token(body: Obj, tokens: Tokens | None) -> Obj:
    """authentication.k8s.io/v1 TokenReview."""
    user = tokens.user(str(body.get("spec", {}).get("token", ""))) if tokens else None
    if user is None:
        status: Obj = {"user": {}, "error": "invalid bearer token"}
    else:
        status = {"authenticated": True, "user": {"username": user.name, "groups": list(user.groups)}}
    return {**body, "status": status}


def review_access(body: Obj) -> Obj:
    """authorization.k8s.io/v1 (Self/Local)SubjectAccessReview: allowed."""
    return {**body, "status": {"allowed": True, "reason": "every user of this server may do everything"}}


def review_self(body: Obj, user: User) -> Obj:
    """authentication.k8s.io/v1 SelfSubjectReview."""
    return {**body, "status": {"userInfo": {"username": user.name, "groups": list(user.groups)}}}
