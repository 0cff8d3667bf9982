"""POST to a subresource: binding, eviction, token."""

from __future__ import annotations

from aiohttp import web

from rayfleet.apiserver import account_token, budgets, deletion, metadata, writing
from rayfleet.apiserver.call import Call
from rayfleet.apiserver.record import Obj, Record, encode
from rayfleet.apiserver.status_error import bad_request, conflict, method_not_allowed, not_supported_by

CREATED: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def post_subresource(call: Call) -> web.Response:
    """Raises 405 for anything but pods/binding, pods/eviction and serviceaccounts/token."""
    if call.kind.custom:
        raise not_supported_by(call.kind.group, call.kind.plural, "create")
    if call.address.subresource == "token":
        return call.respond(encode(account_token.request(call)), 201)
    record = writing.require_found(call.api, call.served, call.address.namespace or "", call.address.name)
    if call.address.subresource == "binding":
        return _bind(call, record)
    if call.address.subresource == "eviction":
        body = call.decoded().get("deleteOptions") or {}
        budgets.allow_eviction(call.api, record)
        deletion.delete(call.api, call.kind, record, deletion.options_from(body, call.query))
        return call.respond(encode(CREATED), 201)
    raise method_not_allowed()


def _bind(call: Call, record: Record) -> web.Response:
    """pods/binding: gives the Pod its node. Raises 409 when it has one."""
    obj = record.decode()
    node = (call.decoded().get("target") or {}).get("name")
    if not isinstance(node, str) or not node:
        raise bad_request("Binding.target.name: Required value")
    if "deletionTimestamp" in obj["metadata"]:
        raise conflict("", "pods/binding", record.name, f"pod {record.name} is being deleted, cannot be assigned to a host")
    if taken := obj["spec"].get("nodeName"):
        raise conflict("", "pods/binding", record.name, f'pod {record.name} is already assigned to node "{taken}"')
    obj["spec"]["nodeName"] = node
    now = metadata.timestamp(call.api.clock())
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    conditions = [condition for condition in obj["status"].get("conditions", []) if condition.get("type") != "PodScheduled"]
    obj["status"]["conditions"] = [*conditions, scheduled]
    if not call.options().dry_run:
        call.api.store.put(record.resource, record.namespace, record.name, obj)
    return call.respond(encode(CREATED), 201)
