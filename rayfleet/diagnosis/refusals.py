"""What the operator or the API server refused: a spec, a child, a name that is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rayfleet.api.meta import Condition
from rayfleet.diagnosis.finding import Finding, Step, clipped
from rayfleet.diagnosis.situation import Situation, Told
from rayfleet.planning.conditions import find, is_true

INVALID = ("InvalidRayClusterSpec", "InvalidRayClusterMetadata")
FAULTS = re.compile(r"; (?=(?:spec|metadata)\b)")
RECENT = 900.0  # seconds; a refusal is told again at least every five minutes for as long as it lasts


class Refusal(NamedTuple):
    """What a text of the API means; {} stands for what the pattern has found."""

    pattern: re.Pattern[str]
    problem: str
    seen: str
    advice: tuple[str, ...]


REFUSALS = (
    Refusal(
        re.compile(r"exceeded quota: (?P<it>[^,]+)"),
        "Quota",
        "The namespace's quota {it} is used up, so Pods are refused.",
        (
            "rayfleet get resourcequota {it} -o yaml",
            "raise the quota, ask for less in the spec, or scale down; it is tried again by itself",
        ),
    ),
    Refusal(
        re.compile(r"failed quota: (?P<it>[^:]+)"),
        "Quota",
        "The namespace's quota {it} wants requests or limits that the Pod template does not set.",
        ("set resources on every container of the template, or make a LimitRange with defaults",),
    ),
    Refusal(
        re.compile(r'admission webhook "(?P<it>[^"]+)" denied the request'),
        "WebhookDenied",
        "The admission webhook {it} refuses what the cluster needs.",
        (
            "change the spec so that the webhook's rule holds; its words are above",
            "whose rule it is: rayfleet get validatingwebhookconfigurations",
        ),
    ),
    Refusal(
        re.compile(r'failed calling webhook "(?P<it>[^"]+)"'),
        "WebhookUnavailable",
        "The admission webhook {it} does not answer, so nothing that it must judge can be made.",
        (
            "mend the webhook's own Pods and Service; it is tried again by itself",
            "rayfleet get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        ),
    ),
    Refusal(
        re.compile(r"ValidatingAdmissionPolicy '(?P<it>[^']+)'"),
        "PolicyDenied",
        "The admission policy {it} refuses what the cluster needs.",
        ("change the spec so that the policy holds; its words are above", "rayfleet get validatingadmissionpolicy {it} -o yaml"),
    ),
    Refusal(
        re.compile(r'violates PodSecurity "(?P<it>[^"]+)"'),
        "PodSecurity",
        "The namespace's pod security standard {it} refuses the Pods.",
        ("set the securityContext that the message asks for in the Pod template, or use a namespace with a laxer standard",),
    ),
    Refusal(
        re.compile(r'serviceaccount "(?P<it>[^"]+)" not found'),
        "MissingServiceAccount",
        "The Pods' ServiceAccount {it} does not exist.",
        ("create it: kubectl create serviceaccount {it}", "or correct serviceAccountName in the Pod template"),
    ),
    Refusal(
        re.compile(r"no PriorityClass with name (?P<it>\S+) was found"),
        "MissingPriorityClass",
        "The Pods' PriorityClass {it} does not exist.",
        ("create it, or correct priorityClassName in the Pod template",),
    ),
    Refusal(
        re.compile(r"because it is being terminated"),
        "NamespaceTerminating",
        "The namespace is being deleted: nothing new can be made in it.",
        ("apply the cluster in another namespace, or again when this one is gone",),
    ),
    Refusal(
        re.compile(r'User "(?P<it>[^"]+)" cannot'),
        "OperatorRights",
        "The operator ({it}) lacks a right that it needs.",
        ("rayfleet doctor --cluster --as {it}", "apply the manifest that belongs to this version: deploy/rayfleet.yaml"),
    ),
)
OTHER = Refusal(
    re.compile(""),
    "Refused",
    "The API server refuses an object that the cluster needs.",
    ("change the spec as the message says; it is tried again by itself",),
)


def refusals(situation: Situation) -> Iterator[Finding]:
    if spec := refused_spec(situation):
        yield spec
    yield from name_conflicts(situation)
    yield from refused_children(situation)


def refused_spec(situation: Situation) -> Finding | None:
    """The operator's own judgement on the present generation."""
    meta, status = situation.cluster.metadata, situation.cluster.status
    valid = find(status.conditions, "Valid")
    told = situation.about("RayCluster", meta.name, *INVALID)
    if valid is None or valid.status != "False":
        # KubeRay has no such condition: it only tells an event, again and again.
        recent = [event for event in told if situation.age(event.time) < RECENT]
        if not recent or valid is not None or situation.pods:
            return None
        why: tuple[Step, ...] = (event_step(recent[0]),)
    else:
        faults = [Step("spec", clipped(fault)) for fault in FAULTS.split(valid.message)]
        why = (Step("condition", f"Valid=False: {valid.reason}"), *faults)
    return Finding(
        "InvalidSpec",
        "The spec is refused; running Pods are left alone, and nothing is done until the spec changes.",
        (f"raycluster/{meta.name}",),
        why,
        ("correct the fields named above and apply the file again", "rayfleet plan -f FILE tells beforehand"),
    )


def name_conflicts(situation: Situation) -> Iterator[Finding]:
    """An object that the cluster needs is there already and is somebody else's. Told for as long as the condition holds."""
    failure = find(situation.cluster.status.conditions, "ReplicaFailure")
    told = situation.about("RayCluster", situation.cluster.metadata.name, "NameConflict")
    if failure is None or failure.status != "True" or not (told or failure.reason == "NameConflict"):
        return
    for note in sorted({event.note for event in told} or {failure.message}):
        found = re.match(r"(?P<kind>\w+) (?P<name>[\w.-]+):", note) or re.match(r'(?P<kind>\w+) "(?P<name>[\w.-]+)"', note)
        place = f"{found['kind'].lower().removesuffix('s')}/{found['name']}" if found else f"raycluster/{situation.cluster.metadata.name}"
        yield Finding(
            "NameConflict",
            "An object of a name that the cluster needs belongs to somebody else, and is left alone.",
            (place,),
            (Step("condition", f"ReplicaFailure=True: {failure.reason}"), Step("event", f"NameConflict: {clipped(note)}")),
            (
                f"see whose it is: rayfleet get {place} -o yaml",
                "delete or rename it, or give the cluster another name; the rest follows by itself",
            ),
        )


def refused_children(situation: Situation) -> Iterator[Finding]:
    """What the API server did not take, in its own words."""
    meta, conditions = situation.cluster.metadata, situation.cluster.status.conditions
    failure = find(conditions, "ReplicaFailure")
    lasting = is_true(conditions, "ReplicaFailure")
    told = [event for event in situation.about("RayCluster", meta.name) if event.reason.startswith("FailedTo")]
    texts = [failure.message] if failure and lasting and failure.reason != "NameConflict" else []
    texts += [event.note for event in told if lasting or (failure is None and still_missed(situation, event))]
    seen: set[tuple[str, str]] = set()
    for text in texts:
        refusal, it = meaning(text)
        if (refusal.problem, it) in seen or (refusal is OTHER and seen):
            continue
        seen.add((refusal.problem, it))
        event = next((each for each in told if each.note == text or meaning(each.note) == (refusal, it)), None)
        same = lasting and failure is not None and meaning(failure.message) == (refusal, it)
        why = [condition_step(failure, short=event is not None)] if failure and same else []
        why += [event_step(event)] if event else []
        yield Finding(
            refusal.problem,
            refusal.seen.format(it=it),
            (f"raycluster/{meta.name}",),
            tuple(why),
            tuple(line.format(it=it) for line in refusal.advice),
        )


def still_missed(situation: Situation, event: Told) -> bool:
    """Without a condition that says so: was it told lately, while the cluster has no head or too few workers?"""
    few = len(situation.pods) <= situation.cluster.status.desired_worker_replicas or situation.head is None
    return few and situation.age(event.time) < RECENT


def meaning(text: str) -> tuple[Refusal, str]:
    """What a refusal means, and what it is about."""
    for refusal in REFUSALS:
        if found := refusal.pattern.search(text):
            return refusal, found.groupdict().get("it", "").strip()
    return OTHER, ""


def condition_step(condition: Condition, *, short: bool = False) -> Step:
    """`short`: its message is told by another step."""
    said = f": {condition.reason}" + (f": {clipped(condition.message)}" if condition.message and not short else "")
    return Step("condition", f"{condition.type}={condition.status}{said}")


def event_step(event: Told) -> Step:
    often = f" (x{event.count})" if event.count > 1 else ""
    return Step("event", f"{event.reason}{often}: {clipped(event.note)}")
