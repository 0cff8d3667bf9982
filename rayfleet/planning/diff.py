"""The difference between two JSON values as a merge patch (RFC 7386)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest merge patch that turns `before` into `after`; empty when they are equal.

    Lists are replaced as a whole, as merge patches do. A member that is None in `after` counts as absent.
    """
    patch: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if value is None or value == old:
            continue
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            inner = merge_patch(old, value)
            if inner:
                patch[name] = inner
        else:
            patch[name] = value
    for name, old in before.items():
        if old is not None and after.get(name) is None:
            patch[name] = None
    return patch
