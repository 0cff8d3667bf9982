"""ObjectMeta: what the server fills, what a client may set, and the rules for names, labels and references."""

from __future__ import annotations

import re
import time
from functools import lru_cache
from typing import Any

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, bad_request, invalid_value, not_allowed, required

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SERVICE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
    "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SERVICE_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an "
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
STANDARD_FINALIZERS = frozenset({"kubernetes", "foregroundDeletion", "orphan"})
ANNOTATIONS_LIMIT = 256 * 1024

_RULES = {
    "subdomain": (SUBDOMAIN, 253, _SUBDOMAIN_RULE),
    "label": (LABEL, 63, _LABEL_RULE),
    "service": (SERVICE, 63, _SERVICE_RULE),
}

KEPT_ON_UPDATE = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
ORDER = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


KNOWN = frozenset({*ORDER, "selfLink"})
_OWNER = ("apiVersion", "kind", "name", "uid")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def timestamp(now: float) -> str:
    """RFC 3339 in whole seconds, as metav1.Time."""
    return _second(int(now))


@lru_cache(maxsize=8)
def _second(now: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))


def tidied(meta: Obj) -> Obj:
    """Only ObjectMeta's fields, in a fixed order, the empty ones left out. Raises 400 for wrong types."""
    for name in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if meta.get(name) is not None and not isinstance(meta[name], str):
            kind = "bool" if isinstance(meta[name], bool) else "number" if isinstance(meta[name], (int, float)) else "object"
            raise bad_request(f"json: cannot unmarshal {kind} into Go struct field ObjectMeta.metadata.{name} of type string")
    for name in ("labels", "annotations"):
        _check_strings(name, meta.get(name))
    for name, type_ in (("ownerReferences", dict), ("finalizers", str), ("managedFields", dict)):
        if (items := meta.get(name)) is not None and not (isinstance(items, list) and all(isinstance(each, type_) for each in items)):
            raise bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{name}")
    for owner in meta.get("ownerReferences") or ():
        if not all(isinstance(owner.get(name) or "", str) for name in _OWNER):
            raise bad_request("json: cannot unmarshal into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference")
    for name in ("creationTimestamp", "deletionTimestamp"):
        if (time_ := meta.get(name)) is not None and not (isinstance(time_, str) and _TIME.match(time_)):
            raise bad_request(f'parsing time "{time_}" as "2006-01-02T15:04:05Z07:00": cannot parse "{time_}" as "2006"')
    return {name: meta[name] for name in ORDER if meta.get(name) not in (None, "", {}, [])}


def check(meta: Obj, rule: str, *, typed: bool = False) -> list[Cause]:
    """`typed`: of a built-in kind, for which finalizers have a further rule."""
    causes = _check_prefix(meta.get("generateName"), rule) + check_name("metadata.name", meta.get("name", ""), rule)
    for key, value in meta.get("labels", {}).items():
        causes += check_label("metadata.labels", key, value)
    for key in meta.get("annotations", {}):
        causes += check_key("metadata.annotations", key.lower())
    size = sum(len(key) + len(value) for key, value in meta.get("annotations", {}).items())
    if size > ANNOTATIONS_LIMIT:
        causes.append(Cause("metadata.annotations", "FieldValueTooLong", f"Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"))
    causes += _check_owners(meta.get("ownerReferences", ()))
    for index, finalizer in enumerate(meta.get("finalizers", ())):
        causes += check_key("metadata.finalizers", str(finalizer))
        if typed and "/" not in str(finalizer) and finalizer not in STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid_value(f"metadata.finalizers[{index}]", finalizer, text))
    return causes


def _check_prefix(prefix: str | None, rule: str) -> list[Cause]:
    """A generateName may end with what the drawn letters make good."""
    wrong = check_name("metadata.generateName", prefix[:-1] + "a" if prefix.endswith("-") else prefix, rule) if prefix else []
    return [invalid_value(cause.field, prefix, cause.message.split(": ", 2)[2]) for cause in wrong]


def wrong_segment(name: str) -> list[str]:
    """Why a name cannot be part of a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in name]


def check_name(path: str, name: Any, rule: str) -> list[Cause]:
    if not isinstance(name, str) or not name:
        return [required(path, "name or generateName is required" if path == "metadata.name" else "")]
    if rule == "path":
        return [invalid_value(path, name, wrong) for wrong in wrong_segment(name)]
    pattern, limit, text = _RULES[rule]
    causes = []
    if len(name) > limit:
        causes.append(invalid_value(path, name, f"must be no more than {limit} characters"))
    if rule in ("label", "service") and "." in name and pattern.fullmatch(name.replace(".", "")):
        causes.append(invalid_value(path, name, "must not contain dots"))
    elif not pattern.fullmatch(name):
        causes.append(invalid_value(path, name, text))
    return causes


def check_label(path: str, key: str, value: str) -> list[Cause]:
    causes = check_key(path, key)
    if len(value) > 63:
        causes.append(invalid_value(path, value, "must be no more than 63 bytes"))
    if value and not QUALIFIED.fullmatch(value):
        causes.append(invalid_value(path, value, _VALUE_RULE))
    return causes


def check_new_finalizers(old: Obj, new: Obj) -> list[Cause]:
    """A dying object takes no further finalizers."""
    if "deletionTimestamp" not in old:
        return []
    known = set(old.get("finalizers", ()))
    added = [name for name in new.get("finalizers", ()) if name not in known]
    if not added:
        return []
    listed = ", ".join(f'"{name}"' for name in added)
    text = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
    return [not_allowed("metadata.finalizers", text)]


def check_key(path: str, key: str) -> list[Cause]:
    prefix, slash, name = key.rpartition("/")
    causes = []
    if slash and not prefix:
        causes.append(invalid_value(path, key, "prefix part must be non-empty"))
    elif slash and not (SUBDOMAIN.fullmatch(prefix) and len(prefix) <= 253):
        causes.append(invalid_value(path, key, f"prefix part {_SUBDOMAIN_RULE}"))
    if not name:
        causes.append(invalid_value(path, key, "name part must be non-empty"))
    elif len(name) > 63:
        causes.append(invalid_value(path, key, "name part must be no more than 63 bytes"))
    if not QUALIFIED.fullmatch(name):
        causes.append(invalid_value(path, key, _KEY_RULE))
    return causes


def _check_owners(owners: list[Obj]) -> list[Cause]:
    causes = []
    for index, owner in enumerate(owners):
        missing = [name for name in ("apiVersion", "kind", "name", "uid") if not owner.get(name)]
        causes += [required(f"metadata.ownerReferences[{index}].{name}", "must not be empty") for name in missing]
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            text = "/v1, Kind=Event is disallowed from being an owner"
            causes.append(invalid_value(f"metadata.ownerReferences[{index}]", owner, text))
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        named = " and ".join(f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        text = f'Only one reference can have Controller set to true. Found "true" in references for {named}'
        causes.append(invalid_value("metadata.ownerReferences", owners, text))
    return causes


def _check_strings(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        raise bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{name} of type map[string]string")
    for text in value.values():
        if not isinstance(text, str):
            kind = "bool" if isinstance(text, bool) else "number" if isinstance(text, (int, float)) else "object"
            raise bad_request(f"json: cannot unmarshal {kind} into Go struct field ObjectMeta.metadata.{name} of type string")
