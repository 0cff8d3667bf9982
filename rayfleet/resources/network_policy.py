"""NetworkPolicies around a cluster: its own Pods may talk to each other, and beyond that only what the rules say (KubeRay, 2.9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.meta import NETWORKPOLICIES, RAYJOBS
from rayfleet.api.names import head_policy_name, worker_policy_name
from rayfleet.api.raycluster import NetworkPolicyOptions, NetworkPolicyRules, RayCluster
from rayfleet.api.validation.ray_job import K8S_JOB
from rayfleet.resources.ownership import cluster_labels, owner_reference
from rayfleet.resources.services import dashboard_port

Manifest = dict[str, Any]
DIRECTIONS = {"DenyAll": ("Ingress", "Egress"), "DenyAllIngress": ("Ingress",), "DenyAllEgress": ("Egress",)}
DNS_PORTS = (53, 5353)
DNS: Manifest = {
    "to": [{"namespaceSelector": {}}, {"ipBlock": {"cidr": "169.254.0.0/16"}}],
    "ports": [{"protocol": protocol, "port": port} for port in DNS_PORTS for protocol in ("UDP", "TCP")],
}
"""Names are asked for in Pods of the cluster's DNS, which listen on 5353 on OpenShift, or in a cache on the node at a link-local address.
Without it no worker finds its head."""


def policies(cluster: RayCluster) -> Iterator[Manifest]:
    """The head's policy, and one for each worker group."""
    options = cluster.spec.network_policy
    if options is None:
        return
    name = cluster.metadata.name
    head = policy(cluster, head_policy_name(name), labels.HEAD_GROUP, {labels.NODE_TYPE: labels.HEAD}, options.mode, options.head)
    if "ingress" in head["spec"]:
        head["spec"]["ingress"][1:1] = submitters(cluster)
    yield head
    for group in cluster.spec.worker_group_specs:
        place = {labels.GROUP: group.group_name, labels.NODE_TYPE: labels.WORKER}
        made = worker_policy_name(name, group.group_name)
        yield policy(cluster, made, group.group_name, place, options.mode, rules_of(options, group.group_name))


def submitters(cluster: RayCluster) -> list[Manifest]:
    """The way in for the submitter of the RayJob that has the cluster, where a Pod of its own submits: to the dashboard, and no further."""
    meta = cluster.metadata
    if meta.label(labels.ORIGINATED_FROM_KIND) != RAYJOBS.kind or meta.label(labels.SUBMISSION_MODE) != K8S_JOB:
        return []
    marks = {name: meta.label(name) for name in (labels.ORIGINATED_FROM_NAME, labels.ORIGINATED_FROM_KIND)}
    port = {"protocol": "TCP", "port": dashboard_port(cluster)}
    return [{"from": [{"podSelector": {"matchLabels": marks}}], "ports": [port]}]


def rules_of(options: NetworkPolicyOptions, group: str) -> NetworkPolicyRules | None:
    """A group's own rules replace those of all workers."""
    for rules in options.worker_groups:
        if rules.group_name == group:
            return rules
    return options.worker


def policy(cluster: RayCluster, name: str, group: str, place: dict[str, str], mode: str, rules: NetworkPolicyRules | None) -> Manifest:
    """`place` are the labels by which, within the cluster, the Pods are found."""
    own = {"podSelector": {"matchLabels": {labels.CLUSTER: cluster.metadata.name}}}
    given = rules or NetworkPolicyRules()
    spec: Manifest = {
        "podSelector": {"matchLabels": {labels.CLUSTER: cluster.metadata.name, **place}},
        "policyTypes": list(DIRECTIONS[mode]),
    }
    if "Ingress" in DIRECTIONS[mode]:
        spec["ingress"] = [{"from": [own]}, *decoded(given.ingress_rules)]
    if "Egress" in DIRECTIONS[mode]:
        spec["egress"] = [{"to": [own]}, DNS, *decoded(given.egress_rules)]
    return {
        "apiVersion": NETWORKPOLICIES.api_version,
        "kind": NETWORKPOLICIES.kind,
        "metadata": {
            "name": name,
            "namespace": cluster.metadata.namespace,
            "labels": {**cluster_labels(cluster.metadata.name), labels.GROUP: group},
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": spec,
    }


def decoded(rules: Sequence[msgspec.Raw]) -> list[Any]:
    return [msgspec.json.decode(rule) for rule in rules]
