"""When a RayCronJob is due: cron's five fields, its usual descriptors, and Go's `@every`, in a zone of the IANA database.

A time that summer time skips is due when the clock has gone forward; one that comes twice is due once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from rayfleet.api.duration import parse_duration
from rayfleet.api.fault import Fault, shown
from rayfleet.api.raycronjob import RayCronJobSpec

EVERY = "@every "
FIELDS = 5
DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
ALLOWED = "it must have cron's five fields, be one of @hourly, @daily, @weekly, @monthly, @yearly, or @every and a duration"


def schedule_faults(spec: RayCronJobSpec) -> Iterator[Fault]:
    text, path = spec.schedule.strip(), "spec.schedule"
    if "TZ=" in text:
        yield Fault(path, f"{shown(text)} names a zone", "name it in spec.timeZone")
        return
    try:
        zone(spec)
    except ValueError:
        yield Fault("spec.timeZone", f"{shown(spec.time_zone)} is no zone", "it must be a name of the IANA database, as Europe/Berlin")
        return
    try:
        latest(spec, 0.0, 0.0)
    except ValueError as error:
        yield Fault(path, f"{shown(text)} cannot be read: {error}", ALLOWED)


def zone(spec: RayCronJobSpec) -> tzinfo:
    """UTC where nothing is said. Raises ValueError."""
    try:
        return ZoneInfo(spec.time_zone) if spec.time_zone else UTC
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(str(error)) from error


def latest(spec: RayCronJobSpec, since: float, now: float) -> float | None:
    """The last time after `since` and not after `now` at which it was due; None when there is none. Raises ValueError."""
    if (period := every(spec)) is not None:
        times = int((now - since) // period)
        return since + times * period if times > 0 else None
    found = next(ticks(spec, now + 1, reverse=True), None)
    return found if found is not None and found > since else None


def following(spec: RayCronJobSpec, since: float, now: float) -> float | None:
    """The first time after `now` at which it is due; None when there is none. Raises ValueError."""
    if (period := every(spec)) is not None:
        return since + (max((now - since) // period, 0) + 1) * period
    return next(ticks(spec, now), None)


def every(spec: RayCronJobSpec) -> float | None:
    """The period of `@every`, in whole seconds; None for another schedule. Raises ValueError."""
    text = spec.schedule.strip()
    return max(float(int(parse_duration(text.removeprefix(EVERY).strip()))), 1.0) if text.startswith(EVERY) else None


def ticks(spec: RayCronJobSpec, start: float, *, reverse: bool = False) -> Iterator[float]:
    """Times from `start` on, or back. Raises ValueError."""
    text = DESCRIPTORS.get(spec.schedule.strip(), spec.schedule.strip())
    fields = text.split()
    if len(fields) != FIELDS:
        raise ValueError(f"it has {len(fields)} fields")
    plain = " ".join("*" if field == "?" else field for field in fields)
    try:
        found = CronSim(plain, datetime.fromtimestamp(int(start), zone(spec)), reverse=reverse)
    except CronSimError as error:
        raise ValueError(str(error).lower()) from error
    return (each.timestamp() for each in found)
