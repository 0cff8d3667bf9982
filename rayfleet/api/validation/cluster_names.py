"""Names: the cluster's is part of its children's names, a group's is part of its Pods' names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.names import CLUSTER_NAME_LIMIT, DNS_1035, worker_stem
from rayfleet.api.validation.object_name import object_name_faults
from rayfleet.api.validation.subject import Subject

# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_LIMIT = 63
ANY_SUFFIX = "b"


def name_faults(subject: Subject) -> Iterator[Fault]:
    yield from object_name_faults(subject.metadata.name, CLUSTER_NAME_LIMIT, "Services")


def group_name_faults(subject: Subject) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for group in subject.workers:
        name = group.spec.group_name
        path = f"{group.path}.groupName"
        if not name:
            yield Fault(path, "is empty", "each worker group needs a name of its own")
            continue
        if name in seen:
            yield Fault(path, f"{shown(name)} is also the name of {seen[name]}", "each worker group needs a name of its own")
        seen.setdefault(name, group.path)
        yield from pod_name_faults(subject.metadata.name, name, path)


def pod_name_faults(cluster: str, group: str, path: str) -> Iterator[Fault]:
    """Pod names are made of the lower-cased group name, and a label holds it whole."""
    if len(group) > LABEL_LIMIT:
        yield Fault(path, f"{shown(group)} has {len(group)} characters", f"at most {LABEL_LIMIT} are allowed, it is the value of a label")
    if not DNS_1123.fullmatch(group.lower()):
        rule = "it must start and end with a letter or digit, and hold only letters, digits, hyphens and single dots"
        yield Fault(path, f"{shown(group)} cannot be part of a Pod's name", rule)
        return
    stem = worker_stem(cluster, group)
    if DNS_1035.fullmatch(cluster) and not DNS_1123.fullmatch(stem + ANY_SUFFIX):
        yield Fault(path, f"{shown(group)} gives Pods the name {stem}..., which is none", "choose a name without a dot at that place")
