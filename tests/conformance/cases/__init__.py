"""The cases, by topic."""

from __future__ import annotations

from tests.conformance.case import Case
from tests.conformance.cases import (
    accounts,
    apply,
    custom,
    definitions,
    deletion,
    discovery,
    events,
    garbage,
    hostile,
    jobs,
    kinds,
    lists,
    objects,
    patches,
    pods,
    policies,
    quotas,
    refusals,
    scales,
    schemas,
    services,
    tables,
    versions,
    watches,
    writes,
)

TOPICS: dict[str, list[Case]] = {
    "discovery": discovery.CASES,  # first, before other cases add kinds
    "objects": objects.CASES,
    "refusals": refusals.CASES,
    "hostile": hostile.CASES,
    "writes": writes.CASES,
    "patches": patches.CASES,
    "apply": apply.CASES,
    "lists": lists.CASES,
    "watches": watches.CASES,
    "versions": versions.CASES,
    "deletion": deletion.CASES,
    "garbage": garbage.CASES,
    "pods": pods.CASES,
    "services": services.CASES,
    "events": events.CASES,
    "quotas": quotas.CASES,
    "accounts": accounts.CASES,
    "jobs": jobs.CASES,
    "custom": custom.CASES,
    "definitions": definitions.CASES,
    "schemas": schemas.CASES,
    "scales": scales.CASES,
    "tables": tables.CASES,
    "policies": policies.CASES,
    "kinds": kinds.CASES,
}
CASES = {case.name: (topic, case) for topic, cases in TOPICS.items() for case in cases}
