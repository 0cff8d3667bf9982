"""Create, replace and patch.

Each in two steps: what can be thought out by itself, which takes as long as the object is large and may be done in a thread;
and the last step, which looks at and changes what all share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rayfleet.apiserver import field_managers, field_shapes, metadata
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.deletion import held
from rayfleet.apiserver.field_shapes import Shape
from rayfleet.apiserver.kind import Kind
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.policies.judging import BINDINGS, judge
from rayfleet.apiserver.policies.request import CREATE, UPDATE, Request
from rayfleet.apiserver.record import Obj, Record, encode
from rayfleet.apiserver.registry import Served
from rayfleet.apiserver.status_error import (
    Cause,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_value,
    malformed,
    not_found,
)

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
UNKNOWN = "\0unknown"
"""where the unknown fields of the metadata wait to be told of"""
Edit = Callable[[Obj], Any]
Last = Callable[[], Record]
"""the last step; raises StatusError"""

_NAMESPACES = "the namespace of the provided object does not match the namespace sent on the request"


def create(api: Api, served: Served, namespace: str, body: Obj, options: WriteOptions) -> Record:
    return creation(api, served, namespace, body, options)()


def patch(api: Api, served: Served, record: Record, edit: Edit, options: WriteOptions) -> Record:
    return patching(api, served, record, edit, options)()


def creation(api: Api, served: Served, namespace: str, body: Obj, options: WriteOptions, *, managers: list[Obj] | None = None) -> Last:
    """`body` is taken over: its parts may change. `managers` are the managedFields of a server-side apply.

    Raises StatusError, as the last step does: 400, 403 (quota, namespace ends), 404 (no such namespace), 409 (exists), 422.
    """
    kind = served.kind
    obj = _decoded(served, body, options)
    meta = obj["metadata"]
    if meta.get("resourceVersion"):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    _set_namespace(kind, meta, namespace)
    if not meta.get("name") and isinstance(meta.get("generateName"), str):
        meta["name"] = api.generated_name(meta["generateName"])
    name = meta.get("name") or ""
    _require_namespace(api, kind, namespace, name)
    if kind.custom and (definition := api.store.get(DEFINITIONS, "", kind.resource)) and b'"deletionTimestamp":' in definition.data:
        raise forbidden(kind.group, kind.plural, name, "create not allowed while custom resource definition is terminating")
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "generation"):
        meta.pop(field, None)
    if managers:
        meta["managedFields"] = managers
    meta["uid"] = api.uid()
    meta["creationTimestamp"] = metadata.timestamp(api.clock())
    if kind.counts_generations:
        meta["generation"] = 1
    if kind.has_status and kind.custom:
        obj.pop("status", None)
    _accept(api, served, obj, None, options)
    kind.begin(obj)

    def last() -> Record:
        if (present := api.store.get(kind.resource, namespace, name)) is not None:
            dying = "object is being deleted: " if "deletionTimestamp" in present.decode()["metadata"] else ""
            raise already_exists(kind.group, kind.plural, name, dying)
        kind.admit(api, obj, None)
        _judge(Request(api, served, CREATE, namespace, name, obj, None), options)
        return _save(api, kind, namespace, name, obj, options)

    return last


def replacing(api: Api, served: Served, record: Record, body: Obj, options: WriteOptions, *, subresource: str = "") -> Last:
    """PUT. Without metadata.resourceVersion a core object is replaced unconditionally; a custom one refuses."""
    obj = _decoded(served, body, options)
    if served.kind.custom and not obj["metadata"].get("resourceVersion"):
        cause = Cause("metadata.resourceVersion", "FieldValueInvalid", "Invalid value: 0: must be specified for an update")
        raise invalid(served.kind.group, served.kind.plural, record.name, [cause])
    return _update(api, served, record, obj, options, subresource, _managed(body))


def patching(api: Api, served: Served, record: Record, edit: Edit, options: WriteOptions, *, subresource: str = "") -> Last:
    """`edit` gets the object as served and returns the wanted one."""
    convert = served.kind.aliases.get(served.api_version)
    current = convert(record.decode(), served.api_version) if convert else record.decode() | {"apiVersion": served.api_version}
    wanted = edit(current)
    if not isinstance(wanted, dict):
        raise bad_request("the patch does not leave an object")
    try:
        return _update(api, served, record, _decoded(served, wanted, options), options, subresource, _managed(wanted))
    except StatusError as failure:
        if failure.code != 400 or "cannot be handled as a" not in failure.message:
            raise
        # Not what was sent is malformed, but what comes of it.
        why = failure.message.partition(f"cannot be handled as a {served.kind.name}: ")[2] or failure.message
        raise invalid("", "", "", [invalid_value("patch", encode(wanted).decode(), why)]) from failure


def _update(api: Api, served: Served, record: Record, obj: Obj, options: WriteOptions, subresource: str, asked: Any) -> Last:
    kind = served.kind
    old = record.decode()
    _check_identity(kind, record, obj["metadata"])
    obj["metadata"] = _updated_metadata(obj["metadata"], old["metadata"])
    if subresource == "status":
        obj.pop(UNKNOWN, None)
        obj = _only_status(kind, obj, old)
    elif kind.has_status:
        _keep_status(obj, old)
    if subresource == "status":
        _accept_status(served, obj, old, options)
    else:
        _accept(api, served, obj, old, options)
    managed = bool(asked or old["metadata"].get("managedFields"))
    entries = asked if options.applied or not managed else _managers(api, served, obj, old, asked, options, subresource)

    def last() -> Record:
        kind.admit(api, obj, old)
        _judge(Request(api, served, UPDATE, record.namespace, record.name, obj, old), options)
        if kind.counts_generations and _spec_changed(kind, obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if managed:
            obj["metadata"] = metadata.tidied({**obj["metadata"], "managedFields": entries})
        if obj == old:
            return record
        if not _finished(obj):
            return _save(api, kind, record.namespace, record.name, obj, options)
        # The answer shows the version before, as nothing was written any more.
        draft = api.store.draft(kind.resource, record.namespace, record.name, obj)
        if not options.dry_run:
            api.store.remove(record)
        return draft

    return last


def _judge(request: Request, options: WriteOptions) -> None:
    """Raises StatusError: what a policy denies."""
    if options.user is not None and not request.api.store.is_unused(BINDINGS):
        options.warnings += judge(request.by(options))


def shape_of(served: Served) -> Shape:
    return field_shapes.shape_of(served.kind.name, served.kind.openapi.get(served.version) if served.kind.custom else None)


def _managed(body: Obj) -> Any:
    meta = body.get("metadata")
    return meta.get("managedFields") if isinstance(meta, dict) else None


def _managers(api: Api, served: Served, obj: Obj, old: Obj, asked: Any, options: WriteOptions, subresource: str) -> list[Obj]:
    who = field_managers.Manager(field_managers.UPDATE, options.manager or options.agent, served.api_version, subresource)
    return field_managers.after_update(old, obj, asked, who, shape_of(served), metadata.timestamp(api.clock()))


def _save(api: Api, kind: Kind, namespace: str, name: str, obj: Obj, options: WriteOptions) -> Record:
    obj["metadata"] = metadata.tidied({**obj["metadata"], "resourceVersion": "0"})
    if options.dry_run:
        return api.store.draft(kind.resource, namespace, name, obj)
    return api.store.put(kind.resource, namespace, name, obj)


def _decoded(served: Served, body: Obj, options: WriteOptions) -> Obj:
    kind = served.kind
    if body.get("apiVersion", served.api_version) != served.api_version:
        if kind.custom:
            # No schema stands under that version, so none of its fields are known.
            _report_unknown(served, [name for name in body if name not in ("apiVersion", "kind", "metadata")], options)
        text = f"the API version in the data ({body['apiVersion']}) does not match the expected API version ({served.api_version})"
        refusal = bad_request(text)
        refusal.warnings = options.warnings
        raise refusal
    if body.get("kind", kind.name) != kind.name:
        raise _of_another_kind(served, body)
    if not isinstance(body.get("metadata", {}), dict):
        raise bad_request("json: cannot unmarshal into Go struct field .metadata of type v1.ObjectMeta")
    obj = kind.stored(body, served.api_version)
    if unknown := [f"metadata.{name}" for name in obj["metadata"] or () if name not in metadata.KNOWN]:
        obj[UNKNOWN] = unknown
    try:
        obj["metadata"] = metadata.tidied(obj["metadata"] or {})
    except StatusError as failure:
        raise malformed(kind.name, served.version, failure.message) from failure
    return obj


def _of_another_kind(served: Served, body: Obj) -> StatusError:
    kind = served.kind
    schema = kind.schemas.get(served.version)
    if schema is None:
        return bad_request(f'{body["kind"]} in version "{served.version}" cannot be handled as a {kind.name}')
    # Judged by the schema all the same, but without the defaults, which are for its own kind.
    causes = [invalid_value("kind", body["kind"], f"must be {kind.name}"), *schema.check(body, None)]
    return invalid(kind.group, str(body["kind"]), str((body.get("metadata") or {}).get("name", "")), causes)


def _accept(api: Api, served: Served, obj: Obj, old: Obj | None, options: WriteOptions) -> None:
    """Prunes, fills defaults and validates, in the order of a real API server."""
    kind = served.kind
    schema = kind.schemas.get(served.version)
    unknown = [*obj.pop(UNKNOWN, ()), *(kind.shape(obj) if kind.shape else [])]
    if schema is not None:
        unknown += schema.prune(obj)
        schema.default(obj)
    _report_unknown(served, unknown, options)
    kind.default(obj)
    causes = metadata.check(obj["metadata"], kind.names, typed=not kind.custom and kind.resource != DEFINITIONS)
    if old is not None:
        causes += metadata.check_new_finalizers(old["metadata"], obj["metadata"])
    causes += schema.check(obj, old) if schema is not None else []
    causes += kind.check(obj, old)
    causes += kind.check_alias(obj, old) if served.api_version in kind.aliases else []
    if causes:
        refusal = invalid(kind.group, kind.name, obj["metadata"].get("name") or "", causes)
        refusal.warnings = options.warnings
        raise refusal


def _accept_status(served: Served, obj: Obj, old: Obj, options: WriteOptions) -> None:
    """A status write is judged by the status alone: a spec that became invalid must not silence the controller."""
    schema = served.kind.schemas.get(served.version)
    if schema is None:
        served.kind.default_status(obj)
        causes = metadata.check(obj["metadata"], served.kind.names) if obj["metadata"] != old["metadata"] else []
        if causes:
            raise invalid(served.kind.group, served.kind.name, obj["metadata"]["name"], causes)
        return
    part = {"status": obj["status"]} if "status" in obj else {}
    before = {"status": old["status"]} if "status" in old else {}
    _report_unknown(served, schema.prune(part), options)
    schema.default(part)
    causes = schema.check_status(part, before)
    if causes:
        raise invalid(served.kind.group, served.kind.name, obj["metadata"]["name"], causes)


def _report_unknown(served: Served, unknown: list[str], options: WriteOptions) -> None:
    texts = [*(f'duplicate field "{path}"' for path in options.doubled), *(f'unknown field "{path}"' for path in unknown)]
    if texts and options.validation == "Strict":
        raise malformed(served.kind.name, served.version, "strict decoding error: " + ", ".join(texts))
    if options.validation == "Warn":
        options.warnings += texts


def _set_namespace(kind: Kind, meta: Obj, namespace: str) -> None:
    if not kind.namespaced:
        meta.pop("namespace", None)
        return
    if meta.setdefault("namespace", namespace) != namespace:
        raise bad_request(_NAMESPACES)


def _require_namespace(api: Api, kind: Kind, namespace: str, name: str) -> None:
    if not kind.namespaced:
        return
    home = api.store.get("namespaces", "", namespace)
    if home is None:
        raise not_found("", "namespaces", namespace)
    if home.fields.get("status.phase") == "Terminating":
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = Cause("metadata.namespace", "NamespaceTerminating", f"namespace {namespace} is being terminated")
        raise forbidden(kind.group, kind.plural, name, why, [cause])


def _check_identity(kind: Kind, record: Record, meta: Obj) -> None:
    if meta.get("name", record.name) != record.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({record.name})")
    if record.namespace and meta.get("namespace", record.namespace) != record.namespace:
        raise bad_request(_NAMESPACES)
    if meta.get("uid", record.uid) != record.uid:
        raise invalid(kind.group, kind.name, record.name, [invalid_value("metadata.uid", meta["uid"], "field is immutable")])
    if not meta.get("resourceVersion", "0").isdecimal():
        raise StatusError(500, "", f'strconv.ParseUint: parsing "{meta["resourceVersion"]}": invalid syntax')
    if meta.get("resourceVersion", "0") not in ("0", str(record.version)):
        raise conflict(kind.group, kind.plural, record.name)


def _updated_metadata(new: Obj, old: Obj) -> Obj:
    merged = {name: value for name, value in new.items() if name not in metadata.KEPT_ON_UPDATE}
    merged |= {name: old[name] for name in metadata.KEPT_ON_UPDATE if name in old}
    merged["resourceVersion"] = old["resourceVersion"]
    return metadata.tidied(merged)


def _only_status(kind: Kind, new: Obj, old: Obj) -> Obj:
    result = {key: value for key, value in old.items() if key != "status"}
    if isinstance(new.get("status"), dict) or (kind.custom and "status" in new):
        result["status"] = new["status"]
    elif new.get("status") is not None:
        raise bad_request(f"json: cannot unmarshal into Go struct field {kind.name}.status")
    if not kind.custom:
        # Core kinds let labels and annotations through with a status.
        passed = {name: new["metadata"][name] for name in ("labels", "annotations") if name in new["metadata"]}
        kept = {name: value for name, value in old["metadata"].items() if name not in ("labels", "annotations")}
        result["metadata"] = metadata.tidied({**kept, **passed})
    return result


def _keep_status(obj: Obj, old: Obj) -> None:
    obj.pop("status", None)
    if "status" in old:
        obj["status"] = old["status"]


def _spec_changed(kind: Kind, new: Obj, old: Obj) -> bool:
    ignored = ("metadata", "status") if kind.has_status else ("metadata",)
    return {k: v for k, v in new.items() if k not in ignored} != {k: v for k, v in old.items() if k not in ignored}


def _finished(obj: Obj) -> bool:
    """Dying, and nothing holds it any more."""
    meta = obj["metadata"]
    return "deletionTimestamp" in meta and not meta.get("deletionGracePeriodSeconds") and not held(obj)


def require_found(api: Api, served: Served, namespace: str, name: str) -> Record:
    """Raises 404."""
    record = api.store.get(served.kind.resource, namespace, name)
    if record is None:
        raise not_found(served.kind.group, served.kind.plural, name)
    return record
