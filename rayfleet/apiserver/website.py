"""Everything that is no object: discovery, version, OpenAPI, reviews."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import Tokens, User, review_access, review_self, review_token
from rayfleet.apiserver.body import JSON, decoded
from rayfleet.apiserver.discovery import Discovery
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request, method_not_allowed

VERSION: Obj = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.0+rayfleet",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "cpython",
    "platform": "linux/amd64",
}
REVIEWS = {
    "/apis/authentication.k8s.io/v1/tokenreviews": "TokenReview",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": "SelfSubjectReview",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": "SubjectAccessReview",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
}


class Website:
    def __init__(self, api: Api, tokens: Tokens | None) -> None:
        self._tokens = tokens
        self._api = api
        self._discovery = Discovery(api.registry)

    def page(self, request: web.Request, body: bytes, content: Any, user: User) -> web.Response | None:
        """None for the path of an object. Raises 404 never: what is not known here is somebody else's.

        `content`: the body's value, or its refusal, where it was read already.
        """
        path = request.path
        if path in REVIEWS:
            return self._review(request, path, body, content, user)
        if path == "/version":
            return _page(VERSION)
        if path.startswith("/openapi/"):
            return self._discovery.openapi(path)
        if path.startswith("/api") and path.count("/") <= 3:
            return self._discovery.page(path.rstrip("/"), request.headers.get("Accept", ""))
        return None

    def _review(self, request: web.Request, path: str, body: bytes, content: Any, user: User) -> web.Response:
        if request.method != "POST":
            raise method_not_allowed()
        if isinstance(content, StatusError):
            raise content
        review = decoded(body, request.content_type) if content is None else content
        if not isinstance(review, dict):
            raise bad_request("the body is no object")
        group_version = path.split("/")
        review = {"apiVersion": "/".join(group_version[2:4]), "kind": REVIEWS[path], "metadata": {}, **review}
        if REVIEWS[path] == "TokenReview":
            review = review_token(self._api, review, self._tokens)
        elif REVIEWS[path] == "SelfSubjectReview":
            review = review_self(self._api, review, user)
        else:
            review = review_access(self._api, review, user)
        return _page(review, 201)


def _page(body: Obj, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(body), status=status, content_type=JSON)
