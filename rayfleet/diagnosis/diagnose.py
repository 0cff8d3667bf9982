"""From everything that was read to what is wrong: causes first, and what only follows from them left out."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.diagnosis.finding import Diagnosis, Finding, Step, clipped, merged
from rayfleet.diagnosis.pod_state import PodState
from rayfleet.diagnosis.pods import of_pod
from rayfleet.diagnosis.refusals import condition_step, refusals
from rayfleet.diagnosis.replaced import replaced
from rayfleet.diagnosis.situation import Situation
from rayfleet.diagnosis.sizes import not_sized, of_sizes
from rayfleet.planning.conditions import find, is_true

IS_IT_RUNNING = ("is the operator running, and does it watch this namespace? rayfleet doctor --cluster",)
PATIENCE = 30.0  # seconds in which an operator may take notice, and make what is missing


def diagnose(situation: Situation) -> Diagnosis:
    meta, status = situation.cluster.metadata, situation.cluster.status
    findings = merged(sorted(wrong(situation), key=lambda found: found.problem in CONSEQUENCES)) or missing_pods(situation)
    # A worker that cannot reach the head says nothing new while the head itself is not well.
    if any(finding.problem not in CONSEQUENCES and concerns_head(situation, finding) for finding in findings):
        findings = tuple(finding for finding in findings if finding.problem not in CONSEQUENCES)
    state = state_of(situation, findings)
    ready = "ready" if is_true(status.conditions, "HeadPodReady") else "not ready"
    workers = f"{status.ready_worker_replicas} of {status.desired_worker_replicas} workers ready"
    summary = f"head {ready}, {workers if status.desired_worker_replicas else 'no workers'}"
    return Diagnosis(meta.namespace, meta.name, state, summary, findings, tuple(notes(situation, state)))


CONSEQUENCES = ("HeadUnreachable", "NameUnknown", "NotReady", "NotSized")


def concerns_head(situation: Situation, finding: Finding) -> bool:
    heads = {pod.place for pod in situation.pods if pod.is_head}
    if not situation.head and finding.problem not in ("HeadReplaced", "WorkersReplaced"):
        return True
    return bool(heads & set(finding.where))


def wrong(situation: Situation) -> Iterator[Finding]:
    meta = situation.cluster.metadata
    if meta.deletion_timestamp:
        yield from held_back(situation)
    elif not is_managed_elsewhere(situation):
        yield from unseen(situation)
        yield from refusals(situation)
        yield from replaced(situation)
        yield from certificates(situation)
        yield from waits_for_job(situation)
        yield from not_sized(situation)
    for pod in sorted(situation.pods, key=lambda each: (not each.is_head, each.name)):
        if pod.name not in situation.passed_over:
            for finding in of_pod(situation, pod):
                yield with_condition(situation, pod, finding)


def with_condition(situation: Situation, pod: PodState, finding: Finding) -> Finding:
    """The chain of a head begins with what the cluster's condition says of it."""
    condition = find(situation.cluster.status.conditions, "HeadPodReady")
    if not pod.is_head or condition is None or condition.status == "True":
        return finding
    first = Step("condition", f"HeadPodReady={condition.status}: {condition.reason}")
    return Finding(finding.problem, finding.seen, finding.where, (first, *finding.why), finding.advice)


def is_managed_elsewhere(situation: Situation) -> bool:
    return situation.cluster.spec.managed_by not in (None, "", "ray.io/kuberay-operator")


def held_back(situation: Situation) -> Iterator[Finding]:
    """A deletion that does not come to its end."""
    meta = situation.cluster.metadata
    if situation.age(meta.deletion_timestamp) < PATIENCE or not meta.finalizers:
        return
    why = (Step("object", f"deleted at {meta.deletion_timestamp}; finalizers: {', '.join(meta.finalizers)}"),)
    advice = ("whoever set the finalizer must take it away; look at that controller and its log",)
    yield Finding(
        "StuckDeleting", "The cluster is being deleted, and a finalizer holds it back.", (f"raycluster/{meta.name}",), why, advice
    )


def unseen(situation: Situation) -> Iterator[Finding]:
    """Nobody has acted on the cluster as it is now."""
    meta, status = situation.cluster.metadata, situation.cluster.status
    place, advice = (f"raycluster/{meta.name}",), IS_IT_RUNNING
    if situation.age(meta.creation_timestamp) < PATIENCE:
        return
    if not status.conditions and not status.state and not situation.pods:
        why = (Step("object", f"created at {meta.creation_timestamp}, and its status is empty"),)
        yield Finding("NoOperator", "No operator has looked at the cluster.", place, why, advice)
    elif status.observed_generation and status.observed_generation < meta.generation:
        why = (Step("object", f"generation {meta.generation}, observedGeneration {status.observed_generation}"),)
        yield Finding("NoOperator", "No operator has looked at the last change of the spec.", place, why, advice)


def missing_pods(situation: Situation) -> tuple[Finding, ...]:
    """Pods are wanted, none is refused, and yet nobody makes them."""
    meta, status = situation.cluster.metadata, situation.cluster.status
    settled = situation.age(status.last_update_time) > PATIENCE and not situation.cluster.spec.suspend and not meta.deletion_timestamp
    have = sum(not pod.terminating for pod in situation.pods)
    if not settled or not status.observed_generation or is_managed_elsewhere(situation) or have > status.desired_worker_replicas:
        return ()
    wanted = status.desired_worker_replicas + 1
    why = (Step("object", f"{wanted} Pods are wanted, {have} are there; the status was last written at {status.last_update_time}"),)
    return (Finding("NoOperator", "Pods are missing, and nobody makes them.", (f"raycluster/{meta.name}",), why, IS_IT_RUNNING),)


def certificates(situation: Situation) -> Iterator[Finding]:
    """Mutual TLS is asked for, and cert-manager has not issued everything."""
    condition = find(situation.cluster.status.conditions, "CertificatesReady")
    if condition is None or condition.status != "False" or situation.age(condition.last_transition_time) < PATIENCE:
        return
    if condition.reason == "CertManagerMissing":
        advice: tuple[str, ...] = ("install cert-manager, or leave tlsOptions out; rayfleet doctor --cluster tells what is there",)
    else:
        advice = ("kubectl describe certificates,certificaterequests: the issuer says there why it waits",)
    place = f"raycluster/{situation.cluster.metadata.name}"
    seen = "The certificates for mutual TLS are not issued, so no Pod is made."
    yield Finding("CertificatesNotReady", seen, (place,), (condition_step(condition),), advice)


def waits_for_job(situation: Situation) -> Iterator[Finding]:
    """The head would submit its job, and the job names another cluster, or none for longer than that takes."""
    meta, job = situation.cluster.metadata, situation.awaited
    ended = job is not None and job.state in ("Complete", "Failed")
    if job is None or not (ended or job.named or situation.age(meta.creation_timestamp) >= PATIENCE):
        return
    said = f"rayfleet.dev/submitted-to names {'another cluster' if job.named else 'no cluster'}"
    why = (Step("object", f"rayjob/{job.name} is {job.state or 'not begun'}; its annotation {said}"),)
    advice = ("delete the cluster: a try whose cluster was lost is not begun again on another one",) if ended or job.named else ()
    seen = f"The head would submit rayjob/{job.name} by itself, and is not made before that names this cluster."
    place = (f"raycluster/{meta.name}",)
    yield Finding("HeadWaitsForJob", seen, place, why, (*advice, f"see how the job is: rayfleet explain rayjob/{job.name}"))


def state_of(situation: Situation, findings: tuple[Finding, ...]) -> str:
    meta, status = situation.cluster.metadata, situation.cluster.status
    if meta.deletion_timestamp:
        return "deleting"
    valid = find(status.conditions, "Valid")
    if valid and valid.status == "False":
        return "refused"
    if is_true(status.conditions, "RayClusterSuspended") or status.state == "suspended":
        return "suspended"
    seen = status.observed_generation == meta.generation
    head = is_true(status.conditions, "HeadPodReady")
    if seen and head and status.ready_worker_replicas >= status.desired_worker_replicas:
        return "ready"
    return "broken" if findings else "starting"


def notes(situation: Situation, state: str) -> Iterator[str]:
    """What is no fault, and what could not be seen."""
    if is_managed_elsewhere(situation):
        yield f"spec.managedBy is {situation.cluster.spec.managed_by}: this operator leaves the cluster to another one"
    if state == "suspended":
        yield "it is suspended, so it has no Pods; spec.suspend: false brings them back"
    if state == "starting":
        yield from progress(situation)
    if situation.passed_over:
        yield f"not looked into: {len(situation.passed_over)} more of the same groups that are not well"
    yield from of_sizes(situation)
    yield from sorted({event.note for event in situation.events if event.reason == "ImageMismatch"})
    for text in situation.unread:
        yield f"not seen: {clipped(text)}"


def progress(situation: Situation) -> Iterator[str]:
    unready = [pod for pod in situation.pods if not pod.ready and not pod.terminating]
    if situation.awaited is not None:
        yield f"its head is made as soon as rayjob/{situation.awaited.name} names this cluster"
    elif not situation.pods:
        yield "its Pods are being made"
    elif unready:
        head = ", the head among them" if any(pod.is_head for pod in unready) else ""
        yield f"its Pods are starting ({len(unready)} of {len(situation.pods)} not ready{head}); nothing is wrong so far"
