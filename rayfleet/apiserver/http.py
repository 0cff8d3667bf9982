"""The HTTP face: from a request to a verb, and from a refusal to its Status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from rayfleet.apiserver import address, deletion, writing
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.auth import Tokens, User
from rayfleet.apiserver.authorization import authorize
from rayfleet.apiserver.body import BODY_LIMIT, JSON, parsed, too_large
from rayfleet.apiserver.call import Call, warn
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
from rayfleet.apiserver.website import Website

log = logging.getLogger(__name__)

EVERYBODY = User("system:admin", ("system:masters",), trusted=True)
"""where no tokens are asked for"""
BODY_SECONDS = 60.0
"""as Kubernetes gives a whole request"""
OPEN = frozenset({"/healthz", "/readyz", "/livez"})

Handler = Callable[[Call], Awaitable[web.StreamResponse]]


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
        self._verbs: dict[str, Handler] = {
            "GET": self._get,
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
        if self._api.store.journal is not None:
            self._api.store.on_stage.append(self._committer.on_stage)
            self._committer.start()

    async def _stop(self, app: web.Application) -> None:
        self._watches.close()

    async def _close(self, app: web.Application) -> None:
        self._housekeeping.stop()
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
        if (page := self._website.page(request, body, user)) is not None:
            return page
        call = Call(self._api, request, address.parse(self._api.registry, path), dict(request.query) if request.query_string else {})
        call.user = user
        call.body, call.parsed = body, await parsed(body, request.content_type)
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
        verb = self._verbs.get(call.request.method)
        if verb is None:
            raise method_not_allowed()
        response = await verb(call)
        if not isinstance(response, web.Response):
            return response
        # Nobody learns of a state that a crash could still take back: see Committer.
        await self._committer.settled()
        return response

    async def _get(self, call: Call) -> web.StreamResponse:
        if call.address.subresource == "log":
            from rayfleet.apiserver.pod_log import pod_log

            return await pod_log(call)
        if call.address.name and not call.flag("watch"):
            return get_scale(call) if call.address.subresource == "scale" else get(call)
        if call.flag("watch"):
            return await watch(call, self._watches, self._committer.settled)
        return list_objects(call, self._snapshots)

    async def _post(self, call: Call) -> web.StreamResponse:
        if call.address.subresource:
            return post_subresource(call)
        if call.address.name or (call.kind.namespaced and call.address.namespace is None):
            raise method_not_allowed()
        options = call.options()
        record = writing.create(call.api, call.served, call.address.namespace or "", call.decoded(), options)
        return call.answer(record, 201, options)

    async def _put(self, call: Call) -> web.StreamResponse:
        if not call.address.name or call.address.subresource in STREAMED:
            raise method_not_allowed()
        if call.address.subresource == "scale":
            return put_scale(call)
        record = writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)
        options = call.options()
        record = writing.replace(call.api, call.served, record, call.decoded(), options, subresource=call.address.subresource)
        return call.answer(record, 200, options)

    async def _patch(self, call: Call) -> web.StreamResponse:
        if not call.address.name or call.address.subresource in STREAMED:
            raise method_not_allowed()
        return patch_scale(call) if call.address.subresource == "scale" else apply_patch(call)

    async def _delete(self, call: Call) -> web.StreamResponse:
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
