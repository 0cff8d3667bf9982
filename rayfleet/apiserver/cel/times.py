"""Timestamps and durations."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rayfleet.api.duration import parse_duration
from rayfleet.apiserver.cel.values import Failure, NoOverload

_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)")


def timestamp(value: Any) -> datetime:
    """Of RFC 3339, or of seconds since the epoch. Raises Failure."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC)
    if not isinstance(value, str):
        raise NoOverload
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise Failure(f'parsing time "{value}"') from None
    if found.tzinfo is None:
        raise Failure(f'parsing time "{value}"')
    return found.astimezone(UTC)


def duration(value: Any) -> timedelta:
    """Of Go's form: 1h30m. Raises Failure."""
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise NoOverload
    rest = value[1:] if value[:1] in ("+", "-") else value
    try:
        if rest.isdecimal() and rest != "0":
            raise ValueError(rest)
        seconds = parse_duration(rest)
    except ValueError:
        raise Failure(f'time: invalid duration "{value}"') from None
    return timedelta(seconds=-seconds if value[:1] == "-" else seconds)


def timestamp_text(value: datetime) -> str:
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    return f"{value:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def duration_text(value: timedelta) -> str:
    return f"{value.total_seconds():.9f}".rstrip("0").rstrip(".") + "s"


def _local(value: datetime, zone: str = "UTC") -> datetime:
    if offset := _OFFSET.fullmatch(zone):
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return value + (-shift if offset[1] == "-" else shift)
    try:
        return value.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        raise Failure(f"unknown time zone {zone}") from None


def _of_date(part: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda value, *zone: part(_local(value, *zone))


def _of_clock(part: Callable[[datetime], int], units: int) -> Callable[..., int]:
    """Of a duration: all of it, in whole units of so many microseconds."""

    def get(value: Any, *zone: str) -> int:
        if isinstance(value, timedelta):
            return int(value / timedelta(microseconds=units))
        return part(_local(value, *zone))

    return get


METHODS: dict[str, Callable[..., Any]] = {
    "getFullYear": _of_date(lambda time: time.year),
    "getMonth": _of_date(lambda time: time.month - 1),
    "getDayOfMonth": _of_date(lambda time: time.day - 1),
    "getDate": _of_date(lambda time: time.day),
    "getDayOfWeek": _of_date(lambda time: time.isoweekday() % 7),
    "getDayOfYear": _of_date(lambda time: time.timetuple().tm_yday - 1),
    "getHours": _of_clock(lambda time: time.hour, 3600 * 10**6),
    "getMinutes": _of_clock(lambda time: time.minute, 60 * 10**6),
    "getSeconds": _of_clock(lambda time: time.second, 10**6),
    "getMilliseconds": _of_clock(lambda time: time.microsecond // 1000, 1000),
}
