"""The HTTP face: from a request to a verb, and from a refusal to its Status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from aiohttp import web

from rayfleet.apiserver import address, deletion, writing
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import Tokens, User
from rayfleet.apiserver.authorization import authorize
from rayfleet.apiserver.beside import Beside, is_large
from rayfleet.apiserver.body import BODY_LIMIT, JSON, too_large
from rayfleet.apiserver.call import Answer, Call, warn
from rayfleet.apiserver.commit import Committer
from rayfleet.apiserver.housekeeping import Housekeeping
from rayfleet.apiserver.impersonation import impersonated
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.patching import apply_patch
from rayfleet.apiserver.policies.judging import judge_deletion
from rayfleet.apiserver.reading import Snapshots, get, list_objects
from rayfleet.apiserver.record import encode
from rayfleet.apiserver.scaling import get_scale, patch_scale, put_scale
from rayfleet.apiserver.status_error import StatusError, bad_request, method_not_allowed, not_supported_by
from rayfleet.apiserver.streaming import STREAMED, stream
from rayfleet.apiserver.subresources import post_subresource
from rayfleet.apiserver.watching import Watches, watch
from rayfleet.apiserver.website import REVIEWS, Website

log = logging.getLogger(__name__)

EVERYBODY = User("system:admin", ("system:masters",), trusted=True)
"""where no tokens are asked for"""
BODY_SECONDS = 60.0
"""as Kubernetes gives a whole request"""
OPEN = frozenset({"/healthz", "/readyz", "/livez"})

Writer = Callable[[Call], Answer]


class Http:
    """`tokens` None lets everybody in: for tests in one process only. `patience`: seconds in which a body has to come."""

    def __init__(self, api: Api, tokens: Tokens | None, patience: float = BODY_SECONDS) -> None:
        self._api = api
        self._tokens = tokens
        self._snapshots = Snapshots()
        self._watches = Watches()
        self._patience = patience
        self._committer = Committer(api.store)
        self._housekeeping = Housekeeping(api, healthy=lambda: self._committer.failure is None)
        self._website = Website(api, tokens)
        self._beside = Beside()
        self._writers: dict[str, Writer] = {
            "POST": self._post,
            "PUT": self._put,
            "PATCH": self._patch,
            "DELETE": self._delete,
        }

    def app(self) -> web.Application:
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_route("*", "/{path:.*}", self.handle)
        app.on_startup.append(self._start)
        app.on_shutdown.append(self._stop)
        app.on_cleanup.append(self._close)
        return app

    async def _start(self, app: web.Application) -> None:
        self._housekeeping.start()
        self._beside.start()
        if self._api.store.journal is not None:
            self._api.store.on_stage.append(self._committer.on_stage)
            self._committer.start()

    async def _stop(self, app: web.Application) -> None:
        self._watches.close()

    async def _close(self, app: web.Application) -> None:
        self._housekeeping.stop()
        self._beside.close()
        await self._committer.close()
        self._api.store.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except StatusError as error:
            headers = {"Retry-After": str(seconds)} if (seconds := error.details.get("retryAfterSeconds")) else None
            charset = "utf-8" if error.plain else None
            response = web.Response(body=error.body(), status=error.code, content_type=error.media, charset=charset, headers=headers)
            warn(response, error.warnings)
            return response
        except web.HTTPRequestEntityTooLarge:
            return web.Response(body=too_large().body(), status=413, content_type=JSON)
        except (asyncio.CancelledError, ConnectionResetError):
            raise
        except Exception as failure:
            log.exception("%s %s failed", request.method, request.path)
            refusal = StatusError(500, "InternalError", f"Internal error occurred: {type(failure).__name__}")
            return web.Response(body=refusal.body(), status=500, content_type=JSON)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path in OPEN:
            return web.Response(text="ok")
        user = EVERYBODY
        if self._tokens is not None:
            user = self._tokens.authenticate(self._api, request.headers.get("Authorization", ""))
            user = impersonated(self._api, user, request.headers)
        body = await self._body(request) if request.can_read_body else b""
        content = await self._beside.content(body, request.content_type) if path in REVIEWS else None
        if (page := self._website.page(request, body, content, user)) is not None:
            return page
        call = Call(self._api, request, address.parse(self._api.registry, path), dict(request.query) if request.query_string else {})
        call.user = user
        call.body = body
        authorize(call, user)
        try:
            return await self._served(call)
        except StatusError as refusal:
            refusal.warnings = [*refusal.warnings, *call.deprecations()]
            raise

    async def _body(self, request: web.Request) -> bytes:
        """Raises 400 (broken off), 413, 504 (not here in time)."""
        if (request.content_length or 0) > BODY_LIMIT:
            raise too_large()
        try:
            async with asyncio.timeout(self._patience):
                return await request.read()
        except TimeoutError:
            why = "Timeout: request did not complete within the allotted timeout"
            raise StatusError(504, "Timeout", why) from None
        except web.RequestPayloadError as failure:
            raise bad_request(f"error reading the body: {failure}") from None

    async def _served(self, call: Call) -> web.StreamResponse:
        if call.address.subresource == "proxy":
            from rayfleet.apiserver.proxy import proxy

            return await proxy(call)
        if call.address.subresource in STREAMED and call.request.method in ("GET", "POST"):
            return await stream(call)
        response = await (self._get(call) if call.request.method == "GET" else self._write(call))
        if not isinstance(response, web.Response):
            return response
        # Nobody learns of a state that a crash could still take back: see Committer.
        await self._committer.settled()
        return response

    async def _write(self, call: Call) -> web.Response:
        write = self._writers.get(call.request.method)
        if write is None:
            raise method_not_allowed()
        if call.request.method == "DELETE" or (call.request.method == "POST" and call.address.subresource):
            # Once its body is read, what is left to do is short.
            call.parsed = await self._beside.content(call.body, call.request.content_type)
            return write(call)()
        return await self._beside.write(call, write) if is_large(call) else write(call)()

    async def _get(self, call: Call) -> web.StreamResponse:
        if call.address.subresource == "log":
            from rayfleet.apiserver.pod_log import pod_log

            return await pod_log(call)
        if call.address.name and not call.flag("watch"):
            return get_scale(call) if call.address.subresource == "scale" else get(call)
        if call.flag("watch"):
            return await watch(call, self._watches, self._committer.settled)
        return list_objects(call, self._snapshots)

    def _post(self, call: Call) -> Answer:
        if call.address.subresource:
            return lambda: post_subresource(call)
        if call.address.name or (call.kind.namespaced and call.address.namespace is None):
            raise method_not_allowed()
        options = call.options()
        last = writing.creation(call.api, call.served, call.address.namespace or "", call.decoded(), options)
        return lambda: call.answer(last(), 201, options)

    def _put(self, call: Call) -> Answer:
        if not call.address.name or call.address.subresource in STREAMED:
            raise method_not_allowed()
        if call.address.subresource == "scale":
            return put_scale(call)
        record = writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)
        options = call.options()
        last = writing.replacing(call.api, call.served, record, call.decoded(), options, subresource=call.address.subresource)
        return lambda: call.answer(last(), 200, options)

    def _patch(self, call: Call) -> Answer:
        if not call.address.name or call.address.subresource in STREAMED:
            raise method_not_allowed()
        return patch_scale(call) if call.address.subresource == "scale" else apply_patch(call)

    def _delete(self, call: Call) -> Answer:
        return lambda: self._deleted(call)

    def _deleted(self, call: Call) -> web.Response:
        body = call.content() if call.body else {}
        options = deletion.options_from(body if isinstance(body, dict) else {}, call.query)
        if call.address.subresource and call.kind.custom:
            raise not_supported_by(call.kind.group, call.kind.plural, "delete")
        if call.address.subresource:
            raise method_not_allowed()
        if not call.address.name:
            return self._delete_collection(call, options)
        record = writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)
        warnings = [*deletion.warned(call.kind, options), *judge_deletion(call.api, call.served, record, call.user, options.dry_run)]
        record, gone = deletion.delete(call.api, call.kind, record, options)
        if gone and call.kind.resource not in deletion.RETURNED:
            return call.respond(encode(deletion.gone_status(call.kind, record)), 200, WriteOptions(warnings=warnings))
        return call.answer(record, 200, WriteOptions(warnings=warnings))

    def _delete_collection(self, call: Call, options: deletion.DeleteOptions) -> web.Response:
        if call.kind.namespaced and call.address.namespace is None:
            raise method_not_allowed()
        response = list_objects(call, self._snapshots)
        selector = call.selector
        for record in list(call.api.store.select(call.kind.resource, call.address.namespace)):
            if selector.matches(record):
                judge_deletion(call.api, call.served, record, call.user, options.dry_run)
                deletion.delete(call.api, call.kind, record, options)
        return response
