"""The names of our own kinds, which the names of their children are made of."""

from __future__ import annotations

from rayfleet.api.policies.form import Check

RULE = "it must start with a lower-case letter, end with a letter or digit, and hold only these and hyphens"


def name_checks(limit: int, children: str) -> tuple[Check, ...]:
    """`limit` is in characters, `children` are those whose names would be too long."""
    return (
        Check(
            f"size(object.metadata.name) <= {limit}",
            f"metadata.name: at most {limit} characters are allowed, or the names of its {children} would be too long",
        ),
        Check("object.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", f"metadata.name: {RULE}"),
    )
