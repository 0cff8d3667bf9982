"""A worker that cannot reach its head, or that the head does not let in: whose fault is it likely?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rayfleet.api.names import head_service_name
from rayfleet.diagnosis.finding import Finding, Step
from rayfleet.diagnosis.log_lines import Meaning
from rayfleet.diagnosis.pod_state import PodState
from rayfleet.diagnosis.situation import Situation
from rayfleet.planning.selection import selects


def of_connection(situation: Situation, pod: PodState, meaning: Meaning, why: tuple[Step, ...]) -> Finding:
    head = situation.head
    service = head_service_name(situation.cluster.metadata.name)
    advice = [*meaning.advice]
    steps = list(why)
    if meaning.problem in ("HeadUnreachable", "NameUnknown"):
        if situation.services is not None and service not in situation.services:
            steps.append(Step("object", f"there is no Service {service}"))
            advice.insert(0, f"the operator makes the Service {service}: rayfleet logs raycluster/{situation.cluster.metadata.name}")
        for policy in hindering(situation, pod, head):
            steps.append(Step("object", policy))
            advice.insert(0, "let the NetworkPolicy pass TCP between the cluster's Pods (6379 and Ray's other ports) and DNS (port 53)")
            break
        if head is not None and head.ready:
            steps.append(Step("pod", f"{head.name}: the head is ready, so the way to it is what fails"))
    if meaning.problem == "VersionMismatch" and head is not None:
        images = sorted({each.spec.containers[0].image for each in (head, pod) if each.spec.containers})
        if len(images) > 1:
            steps.append(Step("pod", f"images: head {head.spec.containers[0].image}, worker {pod.spec.containers[0].image}"))
    return Finding(meaning.problem, meaning.sentence(pod.role), (pod.place,), tuple(steps), tuple(dict.fromkeys(advice)))


def hindering(situation: Situation, worker: PodState, head: PodState | None) -> Iterator[str]:
    """NetworkPolicies that are in force on the way: the worker's way out, the head's way in."""
    for policy in situation.policies or ():
        spec: Mapping[str, Any] = policy.get("spec") or {}
        name, types = policy["metadata"]["name"], spec.get("policyTypes") or ["Ingress"]
        if "Egress" in types and selects(spec.get("podSelector"), worker.metadata.labels or {}):
            yield f"the NetworkPolicy {name} limits what leaves {worker.name}"
        if head is not None and "Ingress" in types and selects(spec.get("podSelector"), head.metadata.labels or {}):
            yield f"the NetworkPolicy {name} limits what reaches {head.name}"
