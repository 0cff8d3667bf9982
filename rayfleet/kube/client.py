"""The verbs of the Kubernetes API over HTTP. Bodies are bytes or what msgspec encodes; answers are decoded into the type asked for.

Errors: every method raises `ApiError` (see `errors`). Decoding into a typed struct raises `msgspec.ValidationError` with the field's path.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from rayfleet.api.meta import Resource
from rayfleet.kube.connection import Connection
from rayfleet.kube.errors import Expired, NotFound, Unreachable
from rayfleet.kube.transport import Transport

if TYPE_CHECKING:
    import aiohttp

PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
IDLE = 75.0  # API servers send a bookmark about once a minute; longer silence means that the connection is dead
PAGE = 500


class Client:
    """One API server. At most `pool` requests are under way at once; each ends within `timeout` seconds; watches are counted apart.

    `metadata_only` asks for objects without their content, which then never leaves the server.

    `on_warning(path, text)` hears of each distinct `Warning` once; `on_answer(method, status, seconds)` of every exchange (status 0: none).
    """

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "rayfleet",
        timeout: float = 30.0,
        pool: int = 32,
        on_warning: Callable[[str, str], None] | None = None,
        on_answer: Callable[[str, int, float], None] | None = None,
    ) -> None:
        self.connection = connection
        self._transport = Transport(
            connection, user_agent=user_agent, timeout=timeout, pool=pool, on_warning=on_warning, on_answer=on_answer
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.close()

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        type: Any = dict,
        subresource: str | None = None,
        metadata_only: bool = False,
    ) -> Any:
        """One object, or one of its subresources. `type=bytes` gives the answer as it came."""
        path, accept = resource.path(namespace, name, subresource), METADATA if metadata_only else None
        return decode(await self._transport.exchange("GET", path, accept=accept, idempotent=True), type)

    async def list_page(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int = PAGE,
        token: str = "",
        resource_version: str | None = None,
        metadata_only: bool = False,
    ) -> bytes:
        """One page of a List, raw. `token` continues an earlier page. Without a resource version the list is a consistent one.

        Raises Expired when the token is too old.
        """
        query = selectors(labels, fields)
        query["limit"] = str(limit)
        if token:
            query["continue"] = token
        elif resource_version is not None:
            query["resourceVersion"] = resource_version
        path = with_query(resource.path(namespace), query)
        return await self._transport.exchange("GET", path, accept=METADATA_LIST if metadata_only else None, idempotent=True)

    async def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = "", metadata_only: bool = False
    ) -> list[dict[str, Any]]:
        """All objects, gathered page by page; begun again when the pages expire on the way."""
        items: list[dict[str, Any]] = []
        token = ""
        while True:
            try:
                content = await self.list_page(resource, namespace, labels=labels, fields=fields, token=token, metadata_only=metadata_only)
                page = decode(content, dict)
            except Expired:
                if not token:
                    raise
                items, token = [], ""
                continue
            items += page.get("items") or ()
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return items

    async def create(
        self,
        resource: Resource,
        body: Mapping[str, Any] | bytes,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
        type: Any = dict,
        metadata_only: bool = False,
    ) -> Any:
        """POST an object, or (with a name) to a subresource such as `binding` or `eviction`. Bytes need their namespace given."""
        namespace = namespace or metadata(body).get("namespace")
        path = resource.path(namespace, name, subresource)
        return decode(await self._transport.exchange("POST", path, body=encode(body), accept=METADATA if metadata_only else None), type)

    async def replace(
        self,
        resource: Resource,
        body: Mapping[str, Any] | bytes,
        *,
        name: str | None = None,
        namespace: str | None = None,
        subresource: str | None = None,
        type: Any = dict,
    ) -> Any:
        """PUT an object. Raises Conflict when it carries a resource version that is no longer the current one."""
        name = name or metadata(body)["name"]
        namespace = namespace or metadata(body).get("namespace")
        path = resource.path(namespace, name, subresource)
        return decode(await self._transport.exchange("PUT", path, body=encode(body), idempotent=True), type)

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
        """`kind` is merge (RFC 7386), json (RFC 6902) or strategic."""
        path, accept = resource.path(namespace, name, subresource), METADATA if metadata_only else None
        return decode(await self._transport.exchange("PATCH", path, body=encode(body), content_type=PATCHES[kind], accept=accept), type)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace: int | None = None,
        propagation: str | None = None,
    ) -> None:
        """Delete one object. Raises Conflict when it is not the one of the given UID or version; `grace` is in seconds."""
        tests = {name: value for name, value in (("uid", uid), ("resourceVersion", resource_version)) if value is not None}
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if tests:
            options["preconditions"] = tests
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if propagation is not None:
            options["propagationPolicy"] = propagation
        await self._transport.exchange("DELETE", resource.path(namespace, name), body=encode(options), idempotent=bool(tests))

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        labels: str = "",
        fields: str = "",
        timeout_seconds: int = 290,
        idle: float = IDLE,
        metadata_only: bool = False,
    ) -> AsyncGenerator[bytes, None]:
        """Events as raw lines, bookmarks included, until the server ends the watch in good order.

        Raises Expired when the version is too old at once (an ERROR event may say so later), Unreachable when the connection is cut or
        silent for `idle` seconds. Close the iterator when leaving it early.
        """
        query = selectors(labels, fields) | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        path = with_query(resource.path(namespace), query)
        async with self._transport.stream(path, idle, accept=METADATA if metadata_only else None) as content:
            while line := await content.readline():
                if not line.endswith(b"\n"):
                    raise Unreachable(f"the watch of {resource.plural} was cut in the middle of a line")
                yield line

    async def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """The body of a GET as it comes, for as long as it takes (logs that are followed)."""
        async with self._transport.stream(path, None) as content:
            async for chunk in content.iter_any():
                yield chunk

    def websocket(
        self, path: str, headers: Mapping[str, str], protocols: Collection[str] = ()
    ) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """To who stands behind the server's proxy, in one of these subprotocols; `headers` are for them."""
        return self._transport.websocket(path, headers, protocols)

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content_type: str | None = None,
        accept: str | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Anything else. A GET is repeated when the server is busy, other methods are not.

        `accept` asks for another form than JSON; `headers` are for who stands behind the server's proxy.
        """
        return await self._transport.exchange(
            method,
            with_query(path, query or {}),
            body=None if body is None else encode(body),
            content_type=content_type or "application/json",
            accept=accept,
            headers=headers,
            idempotent=method == "GET",
        )

    async def serves(self, resource: Resource) -> bool:
        """Does the server know this resource at present?"""
        try:
            found = decode(await self.request("GET", resource.path().rpartition("/")[0]), dict)
        except NotFound:
            return False
        return any(entry.get("name") == resource.plural for entry in found.get("resources") or ())


def encode(body: Any) -> bytes:
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


@lru_cache(maxsize=256)
def decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


def decode(content: bytes, type: Any) -> Any:
    """Raises Unreachable when the answer is no JSON (it was cut, or something between answered)."""
    if type is bytes:
        return content
    try:
        return decoder(type).decode(content)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise Unreachable(f"the server's answer is no JSON: {error}", "BadAnswer") from error


def metadata(body: Mapping[str, Any] | bytes) -> Mapping[str, Any]:
    return {} if isinstance(body, bytes) else body.get("metadata") or {}


def selectors(labels: str, fields: str) -> dict[str, str]:
    return {name: value for name, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def with_query(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
