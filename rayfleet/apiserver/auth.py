"""Who asks: bearer tokens, and the reviews that others ask for."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rayfleet.apiserver import account_token, authorization, metadata
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import invalid, invalid_value, unauthorized

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    trusted: bool = False
    """may do everything"""

    def described(self) -> Obj:
        """authentication.k8s.io/v1 UserInfo"""
        uid = {"uid": self.uid} if self.uid else {}
        return {"username": self.name, **uid, "groups": list(self.groups)}


class Tokens:
    """Bearer token -> user. Every user here may do everything: this is one person's fleet. Service accounts: see authorization."""

    def __init__(self, users: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        self._users = {token.encode(): User(name, tuple(groups), trusted=True) for token, (name, groups) in users.items()}

    def user(self, token: str) -> User | None:
        """Compared in constant time: the answer's delay tells nothing about a token."""
        given, found = token.encode(), None
        for known, user in self._users.items():
            if hmac.compare_digest(known, given):
                found = user
        return found

    def authenticate(self, api: Api, authorization: str) -> User:
        """Raises 401."""
        scheme, _, token = authorization.partition(" ")
        user = (self.user(token.strip()) or account(api, token.strip())) if scheme.lower() == "bearer" and token.isascii() else None
        if user is None:
            raise unauthorized()
        return user


def account(api: Api, token: str) -> User | None:
    """The service account whose token this is."""
    claims = account_token.holder(api, token)
    if claims is None:
        return None
    about = claims["kubernetes.io"]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{about['namespace']}", "system:authenticated")
    return User(claims["sub"], groups, about["serviceaccount"]["uid"])


def review_token(api: Api, body: Obj, tokens: Tokens | None) -> Obj:
    """authentication.k8s.io/v1 TokenReview."""
    token = str(body.get("spec", {}).get("token", ""))
    user = tokens.user(token) or account(api, token) if tokens else None
    if user is None:
        return {**body, "status": {"user": {}, "error": "invalid bearer token"}}
    return {**body, "status": {"authenticated": True, "user": user.described(), "audiences": [account_token.ISSUER]}}


def review_access(api: Api, body: Obj, user: User) -> Obj:
    """authorization.k8s.io/v1 (Self)SubjectAccessReview. Raises 422."""
    spec = body.get("spec") or {}
    about, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (about is None) == (other is None):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise invalid("authorization.k8s.io", "", "", [invalid_value("spec", None, text)])
    if body["kind"] == "SubjectAccessReview":
        user = User(spec.get("user") or "", tuple(spec.get("groups") or ()))
    reason = authorization.permitted(api, user, _attributes(about)) if about else ("" if user.trusted else None)
    status: Obj = {"allowed": reason is not None}
    return {**body, "status": status | ({"reason": reason} if reason else {})}


def review_self(api: Api, body: Obj, user: User) -> Obj:
    """authentication.k8s.io/v1 SelfSubjectReview."""
    meta = {"creationTimestamp": metadata.timestamp(api.clock())}
    return {**body, "metadata": meta, "status": {"userInfo": user.described()}}


def _attributes(about: Obj) -> authorization.Attributes:
    resource, part = about.get("resource") or "", about.get("subresource")
    resource = f"{resource}/{part}" if part else resource
    parts = (about.get("verb") or "", about.get("group") or "", resource, about.get("namespace") or "", about.get("name") or "")
    return authorization.Attributes(*parts)
