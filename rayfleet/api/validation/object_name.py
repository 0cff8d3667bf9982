"""Names of our own kinds, which the names of their children are made of (rules: KubeRay, 1.6)."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.names import DNS_1035

RULE = "it must start with a lower-case letter, end with a letter or digit, and hold only lower-case letters, digits and hyphens"


def object_name_faults(name: str, limit: int, children: str, use: str = "the name of a Service") -> Iterator[Fault]:
    """`limit` is in characters, `children` are those whose names would not fit, `use` is what a bad name cannot be."""
    if len(name) > limit:
        because = f"longer names would not fit the names of its {children}"
        yield Fault("metadata.name", f"{shown(name)} has {len(name)} characters", f"at most {limit} are allowed, {because}")
    if not DNS_1035.fullmatch(name):
        yield Fault("metadata.name", f"{shown(name)} cannot be {use}", RULE)
