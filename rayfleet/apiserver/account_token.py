"""Tokens of ServiceAccounts: JSON Web Tokens (RFC 7519, HS256) that die with the account, and with the Pod that they are bound to."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from rayfleet.apiserver import metadata
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import bad_request, conflict, invalid, invalid_value, not_found

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api
    from rayfleet.apiserver.call import Call

ISSUER = "https://kubernetes.default.svc"
SHORTEST, LONGEST, USUAL = 600, 1 << 32, 3600
"""seconds, as kube-apiserver's"""
_HEAD = b'{"alg":"HS256","typ":"JWT"}'


def new_key() -> bytes:
    return secrets.token_bytes(32)


def request(call: Call) -> Obj:
    """POST serviceaccounts/NAME/token. Raises 404, 409 (the Pod is another), 422."""
    api, namespace, name = call.api, call.address.namespace or "", call.address.name
    account = api.store.get("serviceaccounts", namespace, name)
    if account is None:
        raise not_found("", "serviceaccounts", name)
    body = call.decoded()
    spec = body.setdefault("spec", {})
    seconds = spec.setdefault("expirationSeconds", USUAL)
    spec["audiences"] = spec.get("audiences") or [ISSUER]
    _check(seconds)
    bound = spec.setdefault("boundObjectRef", None)
    content = claims(api, namespace, name, account.uid, spec["audiences"], int(seconds))
    if bound:
        pod = _bound_pod(api, namespace, bound)
        content["kubernetes.io"]["pod"] = {"name": bound["name"], "uid": pod}
        bound["uid"] = pod
    status = {"token": signed(api.key, content), "expirationTimestamp": metadata.timestamp(content["exp"])}
    meta = {"name": name, "namespace": namespace, "uid": account.uid, "creationTimestamp": metadata.timestamp(api.clock())}
    return {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": meta, "spec": spec, "status": status}


def holder(api: Api, token: str) -> Obj | None:
    """The claims of a token that is good now; None otherwise."""
    try:
        text, _, signature = token.rpartition(".")
        if not hmac.compare_digest(_encoded(_digest(api.key, text)), signature):
            return None
        content = msgspec.json.decode(_decoded(text.partition(".")[2]))
    except (ValueError, msgspec.DecodeError):
        return None
    about = content["kubernetes.io"]
    account = api.store.get("serviceaccounts", about["namespace"], about["serviceaccount"]["name"])
    if content["exp"] < api.clock() or ISSUER not in content["aud"] or account is None or account.uid != about["serviceaccount"]["uid"]:
        return None
    if bound := about.get("pod"):
        pod = api.store.get("pods", about["namespace"], bound["name"])
        if pod is None or pod.uid != bound["uid"]:
            return None
    return content  # type: ignore[no-any-return]


def _check(seconds: Any) -> None:
    causes = []
    if not isinstance(seconds, int) or seconds < SHORTEST:
        causes.append(invalid_value("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    elif seconds > LONGEST:
        causes.append(invalid_value("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
    if causes:
        raise invalid("authentication.k8s.io", "TokenRequest", "", causes)


def _bound_pod(api: Api, namespace: str, bound: Obj) -> str:
    """Its uid."""
    if (bound.get("kind"), bound.get("apiVersion")) != ("Pod", "v1"):
        raise bad_request(f"cannot bind token for serviceaccount to object type {bound.get('kind')}")
    name = bound.get("name") or ""
    pod = api.store.get("pods", namespace, name)
    if pod is None:
        raise not_found("", "pods", name)
    wanted = bound.get("uid") or pod.uid
    if wanted != pod.uid:
        reference = f"the UID in the bound object reference ({wanted}) does not match the UID in record"
        why = f"{reference}. The object might have been deleted and then recreated"
        raise conflict("", "Pod", name, why)
    return pod.uid


def claims(api: Api, namespace: str, name: str, uid: str, audiences: list[str], seconds: int) -> Obj:
    now = int(api.clock())
    about = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
    subject = f"system:serviceaccount:{namespace}:{name}"
    return {
        "aud": audiences,
        "exp": now + seconds,
        "iat": now,
        "iss": ISSUER,
        "jti": api.uid(),
        "kubernetes.io": about,
        "nbf": now,
        "sub": subject,
    }


def signed(key: bytes, claims: Obj) -> str:
    text = f"{_encoded(_HEAD)}.{_encoded(msgspec.json.encode(claims))}"
    return f"{text}.{_encoded(_digest(key, text))}"


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), hashlib.sha256)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
