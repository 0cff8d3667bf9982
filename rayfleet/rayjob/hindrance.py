"""Why a job does not run yet, in the words of whoever knows: the API server, the cluster, the kubelet, or Ray."""

from __future__ import annotations

from rayfleet.api.decode import Undecodable
from rayfleet.api.labels import CLUSTER
from rayfleet.api.raycluster import RayCluster, RayClusterStatus
from rayfleet.api.rayjob import RayJob
from rayfleet.planning.conditions import find
from rayfleet.planning.readiness import COMING_UP, because, not_ready
from rayfleet.ray.answer import Refused, Unreachable
from rayfleet.rayjob import deadlines
from rayfleet.rayjob.observed import Observed

ENDED = ("Succeeded", "Failed")
TURNS = {"ErrImagePull": "image", "ImagePullBackOff": "image", "CrashLoopBackOff": "container"}
"""The kubelet's reasons that take turns, or whose message changes at each turn, and what they are about."""
TROUBLES = ("Valid", "ReplicaFailure", "HeadPodReady")


def hindrance(observed: Observed, job: RayJob) -> str:
    """Why the job does not run yet, where that is more than that it takes its time."""
    if failures := [backoff.message for _, backoff in sorted(observed.backoffs.items()) if backoff.message]:
        return failures[0]
    cluster = observed.cluster
    if isinstance(cluster, Undecodable):
        return f"RayCluster {cluster.metadata.name} cannot be read: {cluster.error}"
    if cluster is None:
        return f"there is no RayCluster {job.spec.cluster_selector.get(CLUSTER, '')}" if job.spec.cluster_selector else ""
    if found := of_pods(observed):
        return found
    answer = next((heard.answer for heard in (observed.version, observed.word) if heard), None)
    if isinstance(answer, Refused):
        return f"Ray answered {answer.code}: {answer.text}"
    return f"Ray does not answer: {answer.text}" if isinstance(answer, Unreachable) and observed.now > answer_since(observed) + 10 else ""


def of_pods(observed: Observed) -> str:
    """What is wrong with the cluster, its Pods, or those that submit; "" when nothing is."""
    return of_cluster(observed) or of_submitter(observed)


def of_cluster(observed: Observed) -> str:
    """What is wrong with the cluster or its Pods; "" when nothing is."""
    return (trouble(observed.cluster.status) or of_workers(observed)) if isinstance(observed.cluster, RayCluster) else ""


def of_workers(observed: Observed) -> str:
    """What keeps the first worker that cannot start; "" when they only take their time. The cluster's conditions do not say it."""
    for pod in observed.workers:
        reason, message = ("", "") if pod.ready or pod.terminating else not_ready(pod)
        if reason not in COMING_UP:
            return f"worker {pod.name}: {reason}: {message}" if message else f"worker {pod.name}: {reason}"
    return ""


def of_submitter(observed: Observed) -> str:
    """What keeps the Pod that submits from its work; "" when it only takes its time, or runs. Not by its name: its Job makes another one
    for each that fails, and the story stays the same."""
    submitter = observed.submitter
    if submitter is None or submitter.terminating:
        return ""
    living = [pod for pod in observed.submitting if not pod.terminating and pod.status.phase not in ENDED]
    for pod in living:
        reason, message = ("", "") if pod.ready else not_ready(pod)
        if reason not in COMING_UP:
            return f"submitter: {reason}: {message}" if message else f"submitter: {reason}"
    if failed := [pod for pod in observed.submitting if pod.status.phase == "Failed"]:
        return "" if any(pod.running for pod in living) else f"submitter: its Pod has failed{because(failed[-1])}"
    due = deadlines.pod_due(observed)
    return "submitter: its Job has no Pod, and the Job's events say why" if due is not None and observed.now >= due else ""


def alike(told: str, found: str) -> bool:
    """Is it the same trouble? The kubelet says of an image in turn that it cannot be had and that it waits before it tries again, and of a
    container that keeps failing how long."""
    return bool(told) and bool(found) and subject(told) == subject(found)


def subject(message: str) -> tuple[str, ...]:
    """Who is in trouble and by which of the kubelet's reasons; the whole message where it names none that takes turns."""
    words = message.split(": ")
    number = next((number for number, word in enumerate(words) if word in TURNS), None)
    return (message,) if number is None else (*words[:number], TURNS[words[number]])


def answer_since(observed: Observed) -> float:
    heard = observed.version or observed.word
    return heard.since if heard else observed.now


def trouble(status: RayClusterStatus) -> str:
    """The cluster's own word for what is wrong with it; "" when nothing is."""
    for kind in TROUBLES:
        found = find(status.conditions, kind)
        bad = found is not None and found.status == ("True" if kind == "ReplicaFailure" else "False")
        if found is not None and bad and (kind != "HeadPodReady" or found.reason not in COMING_UP):
            return f"{found.reason}: {found.message}" if found.message else found.reason
    return ""
