"""An operator that does not know a field: it reads it nowhere, and of the status it does not write it either."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from rayfleet.api import decode
from rayfleet.raycluster import status


@contextmanager
def ignored(keys: Sequence[str]) -> Iterator[None]:
    """While this lasts the decoder drops the field with this way to it."""
    real_decode, real_written = decode.decode, status.written

    def decode_without(raw: bytes | msgspec.Raw, cls: type) -> Any:
        try:
            document = json.loads(bytes(raw))
        except ValueError:
            return real_decode(raw, cls)
        drop(document, keys)
        return real_decode(json.dumps(document).encode(), cls)

    def written_without(*args: Any, **more: Any) -> Any:
        made = real_written(*args, **more)
        if made is None:
            return None
        patch = json.loads(json.dumps(made.patch))
        drop({"status": patch}, keys)
        return dataclasses.replace(made, patch=patch)

    decode.decode, status.written = decode_without, written_without
    try:
        yield
    finally:
        decode.decode, status.written = real_decode, real_written


def drop(value: Any, keys: Sequence[str]) -> None:
    """In every item of a list on the way."""
    if isinstance(value, list):
        for item in value:
            drop(item, keys)
    elif isinstance(value, dict) and len(keys) == 1:
        value.pop(keys[0], None)
    elif isinstance(value, dict) and keys[0] in value:
        drop(value[keys[0]], keys[1:])
