"""Network policies: rules of a direction only where that direction is closed."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.raycluster import NetworkPolicyOptions, NetworkPolicyRules
from rayfleet.api.validation.cluster_names import DNS_1123, LABEL_LIMIT
from rayfleet.api.validation.subject import Subject


def network_faults(subject: Subject) -> Iterator[Fault]:
    options = subject.spec.network_policy
    if options is None:
        return
    path = f"{subject.path}.networkPolicy"
    if not subject.config.gate("RayClusterNetworkPolicy"):
        yield Fault(path, "needs the feature gate RayClusterNetworkPolicy, which is off")
    for name, rules in (("head", options.head), ("worker", options.worker)):
        if rules:
            yield from rule_faults(options.mode, rules, f"{path}.{name}")
    yield from group_faults(subject, options, path)


def group_faults(subject: Subject, options: NetworkPolicyOptions, path: str) -> Iterator[Fault]:
    known = {group.spec.group_name for group in subject.workers}
    for group in subject.workers:
        name = group.spec.group_name
        if name and not (len(name) <= LABEL_LIMIT and DNS_1123.fullmatch(name) and "." not in name):
            rule = "only lower-case letters, digits and hyphens are allowed with networkPolicy"
            yield Fault(f"{group.path}.groupName", f"{shown(name)} cannot be part of a NetworkPolicy's name", rule)
    for index, rules in enumerate(options.worker_groups):
        where = f"{path}.workerGroups[{index}]"
        yield from rule_faults(options.mode, rules, where)
        if rules.group_name not in known:
            yield Fault(f"{where}.groupName", f"{shown(rules.group_name)} names no worker group", "it must be one of workerGroupSpecs")


def rule_faults(mode: str, rules: NetworkPolicyRules, path: str) -> Iterator[Fault]:
    for name, given, open_mode in (
        ("ingressRules", rules.ingress_rules, "DenyAllEgress"),
        ("egressRules", rules.egress_rules, "DenyAllIngress"),
    ):
        if given and mode == open_mode:
            yield Fault(f"{path}.{name}", f"the mode {mode} leaves that direction open", "these rules must be left out")
