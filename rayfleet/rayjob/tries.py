"""Tries that are over, as the annotation `rayfleet.dev/tries` remembers them: their number is part of the next one's names."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rayfleet.api.labels import TRIES
from rayfleet.api.meta import ObjectMeta

REMEMBERED = 20


class Try(NamedTuple):
    """`number` counts from 0; `start_time` is RFC 3339."""

    number: int
    cluster: str
    submission_id: str
    start_time: str


def parse_tries(meta: ObjectMeta) -> tuple[Try, ...]:
    """The last tries that are over, the latest at the end. A text that somebody spoilt counts as none."""
    try:
        return msgspec.json.decode(meta.annotation(TRIES) or "[]", type=tuple[Try, ...])
    except msgspec.MsgspecError:
        return ()


def written(tries: tuple[Try, ...]) -> str:
    return msgspec.json.encode(tries[-REMEMBERED:]).decode()


def next_number(tries: tuple[Try, ...]) -> int:
    return tries[-1].number + 1 if tries else 0
