"""Three-way merge: what the last apply said, what the file says now, what is live, into one JSON merge patch (RFC 7386). Pure.

Lists are replaced whole. A field that the last apply had and the file no longer has is removed; one that others added stays.
"""

from __future__ import annotations

import json
from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # kubectl's own, so that both can apply in turn


def remembered(body: dict[str, Any]) -> dict[str, Any]:
    """The object with a note of what was applied, as kubectl writes it."""
    plain = without_note(body)
    note = json.dumps(plain, separators=(",", ":"), sort_keys=True) + "\n"
    annotations = {**(plain["metadata"].get("annotations") or {}), LAST_APPLIED: note}
    return plain | {"metadata": plain["metadata"] | {"annotations": annotations}}


def without_note(body: dict[str, Any]) -> dict[str, Any]:
    annotations = body["metadata"].get("annotations") or {}
    if LAST_APPLIED not in annotations:
        return body
    rest = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    metadata = {key: value for key, value in body["metadata"].items() if key != "annotations"}
    return body | {"metadata": metadata | ({"annotations": rest} if rest else {})}


def last_applied(live: dict[str, Any]) -> dict[str, Any]:
    """{} when it was never applied, or the note is broken."""
    note = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        found = json.loads(note) if note else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def patch_for(live: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that makes `live` what `body` asks for; {} when nothing is to do."""
    wanted = remembered(body)
    patch = difference(last_applied(live), wanted, live)
    # The note alone is no change: another program's spelling of the same object must not cause a write.
    metadata = patch.get("metadata", {})
    if set(patch) == {"metadata"} and set(metadata) == {"annotations"} and set(metadata["annotations"]) == {LAST_APPLIED}:
        return patch if last_applied(live) != without_note(body) else {}
    return patch


def kept_list(last: Any, wanted: Any, live: Any) -> bool:
    """A list that was not edited, and to whose elements the server has only added (defaults)."""
    return isinstance(wanted, list) and last in (None, wanted) and covers(live, wanted)


def covers(live: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(key in live and covers(live[key], value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and len(live) == len(wanted) and all(map(covers, live, wanted))
    return bool(live == wanted)


def merged(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The target with a merge patch applied (RFC 7386)."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            there = result.get(key)
            result[key] = merged(there if isinstance(there, dict) else {}, value)
        else:
            result[key] = value
    return result


def difference(last: dict[str, Any], wanted: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for key, value in wanted.items():
        there = live.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            before = last.get(key)
            inner = difference(before if isinstance(before, dict) else {}, value, there)
            if inner:
                patch[key] = inner
        elif value is None:
            if there is not None:
                patch[key] = None
        elif key not in live or (value != there and not kept_list(last.get(key), value, there)):
            patch[key] = value
    for key in last:
        if key not in wanted and key in live:
            patch[key] = None
    return patch
