"""What a group tells `ray start`: parameters, resources and labels, each in one place only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rayfleet.api.fault import Fault, shown
from rayfleet.api.model import join
from rayfleet.api.validation.subject import Subject

RESOURCE_PARAMS = ("num-cpus", "num-gpus", "memory", "resources")
# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
LABEL_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_TEXT = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
LABEL_LIMIT, PREFIX_LIMIT = 63, 253


def start_param_faults(subject: Subject) -> Iterator[Fault]:
    for group in subject.groups:
        params = group.spec.ray_start_params
        twice = [name for name in RESOURCE_PARAMS if params.get(name)]
        if twice and group.spec.resources:
            value = f"resources are set here and in rayStartParams ({', '.join(twice)})"
            yield Fault(f"{group.path}.resources", value, "only one of the two may be used")
        if "labels" in params:
            yield Fault(f"{group.path}.rayStartParams.labels", "labels are no start parameter here", f"use {group.path}.labels")
        yield from label_faults(group.spec.labels, f"{group.path}.labels")


def label_faults(labels: Mapping[str, str], path: str) -> Iterator[Fault]:
    """Labels of a Ray node become labels of its Pod, so Kubernetes' syntax holds for them."""
    for key, value in labels.items():
        if not is_label_key(key):
            yield Fault(
                join(path, key), f"{shown(key)} is no key of a label", "it is a name of at most 63 characters, after an optional DNS prefix"
            )
        if value and not (len(value) <= LABEL_LIMIT and LABEL_TEXT.fullmatch(value)):
            rule = "at most 63 letters, digits, dots, hyphens and underscores, of which the first and last is a letter or digit"
            yield Fault(join(path, key), f"{shown(value)} is no value of a label", rule)


def is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= PREFIX_LIMIT and LABEL_PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= LABEL_LIMIT and bool(LABEL_TEXT.fullmatch(name))
