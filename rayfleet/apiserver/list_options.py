"""Which options of a list or watch go together (apimachinery pkg/apis/meta/internalversion/validation)."""

from __future__ import annotations

from collections.abc import Mapping

from rayfleet.apiserver.status_error import Cause, invalid, not_allowed, not_supported

_INITIAL = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
_MATCHES = ("Exact", "NotOlderThan", "")


_DIGITS = 20


def check_list_options(query: Mapping[str, str]) -> None:
    """Raises 422."""
    watching = query.get("watch", "") in ("true", "1", "True", "t", "T")
    causes = _check_match(query, watching)
    if "sendInitialEvents" in query:
        causes += _check_initial(query, watching)
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)


def _check_match(query: Mapping[str, str], watching: bool) -> list[Cause]:
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if not match:
        return []
    causes = []
    if watching:
        if "sendInitialEvents" not in query:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(not_allowed("resourceVersionMatch", why))
        elif match != "NotOlderThan":
            causes.append(not_allowed("resourceVersionMatch", _INITIAL))
        if match != "NotOlderThan":
            causes.append(not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
        return causes
    if not version:
        causes.append(not_allowed("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if query.get("continue"):
        causes.append(not_allowed("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
    if match not in _MATCHES:
        causes.append(not_supported("resourceVersionMatch", match, _MATCHES))
    if match == "Exact" and version == "0":
        causes.append(not_allowed("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    return causes


def _check_initial(query: Mapping[str, str], watching: bool) -> list[Cause]:
    if not watching:
        return [not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list")]
    return [] if query.get("resourceVersionMatch") else [not_allowed("resourceVersionMatch", _INITIAL)]


def wrong_version(text: str) -> str:
    """What is wrong with a `resourceVersion`; empty when nothing is."""
    if not text or (text.isdecimal() and len(text) <= _DIGITS and int(text) < 2**64):
        return ""
    why = "value out of range" if text.isdecimal() else "invalid syntax"
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
