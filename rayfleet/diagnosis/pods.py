"""What is wrong with one Pod."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.diagnosis.containers import missing, of_container
from rayfleet.diagnosis.finding import Finding, Step, clipped
from rayfleet.diagnosis.pod_state import PodState
from rayfleet.diagnosis.refusals import event_step
from rayfleet.diagnosis.situation import Situation, newest
from rayfleet.planning.conditions import find

UNMOUNTED = ("FailedMount", "FailedAttachVolume")
UNHOUSED = ("FailedCreatePodSandBox", "NetworkNotReady", "FailedSync")
UNSCHEDULED_FOR = 30.0  # seconds after which a Pod that no scheduler has looked at is a finding
ENDING_FOR = 60.0  # seconds beyond its own grace for which a Pod may take to go
ROOM = (
    ("untolerated taint", "add the tolerations that the message names, or use other nodes"),
    ("node affinity/selector", "correct nodeSelector or affinity in the template, or label a node accordingly"),
    ("Insufficient", "ask for less (resources.requests), or add nodes of that size; kubectl describe nodes tells what is free"),
    ("persistentvolumeclaim", "create the claim, or correct its name in the template"),
    ("PersistentVolumeClaims", "kubectl describe pvc tells why the claim is not bound (storage class, zone, size)"),
    ("volume", "kubectl describe pvc tells why the claim cannot be used on the nodes that are free"),
    ("no nodes available", "add a node; the API server knows none that takes Pods"),
    ("were unschedulable", "kubectl uncordon NODE, or add nodes"),
    ("free ports", "leave out hostPort or hostNetwork, or add nodes: each node has a port once"),
    ("pod anti-affinity", "relax the anti-affinity, or add nodes"),
)


def of_pod(situation: Situation, pod: PodState) -> Iterator[Finding]:
    """At most one finding: what comes first in a Pod's life hides what would come later."""
    if pod.terminating:
        yield from ending(situation, pod)
        return
    if pod.status.phase == "Failed":
        yield failed(situation, pod)
        return
    if not pod.spec.node_name:
        yield from unscheduled(situation, pod)
        return
    found = next(filter(None, (of_container(situation, pod, container) for container in pod.containers)), None)
    if found is None and not pod.ready:
        found = unprepared(situation, pod)
    if found:
        yield found


def ending(situation: Situation, pod: PodState) -> Iterator[Finding]:
    """The deletion timestamp is the end of the grace already."""
    late = situation.age(pod.metadata.deletion_timestamp)
    if late < ENDING_FOR:
        return
    finalizers = ", ".join(pod.metadata.finalizers or ())
    held = f"finalizers: {finalizers}" if finalizers else f"node {pod.spec.node_name or '-'} has not confirmed its end"
    advice = (
        "whoever set the finalizer must take it away; look at that controller"
        if finalizers
        else f"is the node alive? kubectl get node {pod.spec.node_name}; if it is gone for good: kubectl delete pod {pod.name} --force"
    )
    why = (Step("pod", f"{pod.name}: was to be gone at {pod.metadata.deletion_timestamp}; {held}"),)
    yield Finding("StuckTerminating", f"{upper(pod.role)} does not go away.", (pod.place,), why, (advice,))


def failed(situation: Situation, pod: PodState) -> Finding:
    """It will not run again; the operator replaces it."""
    for container in pod.containers:
        if container.failed and not pod.status.reason and (found := of_container(situation, pod, container)):
            return found
    reason = pod.status.reason or "Failed"
    why = [Step("pod", f"{pod.name}: phase Failed: {reason}: {clipped(pod.status.message)}".rstrip(": "))]
    event = newest(situation.about("Pod", pod.name, reason, "Evicted", "Preempted", "TaintManagerEviction"))
    why += [event_step(event)] if event else []
    advice = {
        "Evicted": "set resources.requests as high as what is used, so that the Pod is not the first to go; the operator makes a new one",
        "DeadlineExceeded": "activeDeadlineSeconds of the Pod template has run out: leave it out",
        "NodeLost": "the node is gone; the operator makes a new Pod",
    }.get(reason, f"rayfleet logs {pod.name}; the operator makes a new Pod")
    return Finding("PodFailed", f"{upper(pod.role)} has failed ({reason}).", (pod.place,), tuple(why), (advice,))


def unscheduled(situation: Situation, pod: PodState) -> Iterator[Finding]:
    scheduled = find(pod.status.conditions or (), "PodScheduled")
    event = newest(situation.about("Pod", pod.name, "FailedScheduling"))
    seen = f"No node takes {pod.role}."
    if scheduled and scheduled.reason == "SchedulingGated":
        why: tuple[Step, ...] = (Step("pod", f"{pod.name}: PodScheduled=False: SchedulingGated: {clipped(scheduled.message)}"),)
        advice = "whoever set the gate (Kueue, for example) must open it: look at the queue's state"
        yield Finding("SchedulingGated", f"{upper(pod.role)} waits for a scheduling gate.", (pod.place,), why, (advice,))
    elif scheduled and scheduled.status == "False":
        why = (Step("pod", f"{pod.name}: Pending, PodScheduled=False: {scheduled.reason}"),)
        text = event.note if event else scheduled.message
        why += (event_step(event),) if event else (Step("pod", clipped(scheduled.message)),)
        yield Finding("Unschedulable", seen, (pod.place,), why, tuple(advice for word, advice in ROOM if word in text) or (OTHERWISE,))
    elif situation.age(pod.metadata.creation_timestamp) > UNSCHEDULED_FOR:
        name = pod.spec.scheduler_name or "default-scheduler"
        why = (Step("pod", f"{pod.name}: Pending, without a condition PodScheduled"), *((event_step(event),) if event else ()))
        advice = f"is the scheduler {name} (schedulerName in the Pod) running? kubectl get pods -A | grep {name}"
        yield Finding("NoScheduler", f"No scheduler has looked at {pod.role}.", (pod.place,), why, (advice,))


OTHERWISE = "kubectl describe nodes tells what is free and what the nodes ask for"


AT_A_DISTANCE = "kubectl describe pvc; the volume may still be held by another node, or its driver may be down"
HERE = (
    (
        "`hostPaths` of local.yaml",
        (
            "allow it in ~/.config/rayfleet/local.yaml: hostPaths: [DIRECTORY]",
            "rayfleet up; the Pod then starts by itself",
        ),
    ),
    ("not offered by the local kubelet", ("use a claim, an emptyDir or a hostPath in the Pod template while it runs here",)),
)


def unprepared(situation: Situation, pod: PodState) -> Finding | None:
    """It is on a node, and its volumes or its network are not made."""
    mount = newest(situation.about("Pod", pod.name, *UNMOUNTED))
    waits = (Step("pod", f"{pod.name}: its containers are not created yet"),)
    started = any(each.state.running or each.ended for each in pod.containers)
    if started:
        return None
    if mount and ("not found" in mount.note or "non-existent" in mount.note):
        return missing(pod, mount.note, (*waits, event_step(mount)))
    if mount:
        advice = next((advice for words, advice in HERE if words in mount.note), (AT_A_DISTANCE,))
        return Finding("VolumeNotMounted", f"A volume of {pod.role} cannot be mounted.", (pod.place,), (*waits, event_step(mount)), advice)
    if house := newest(situation.about("Pod", pod.name, *UNHOUSED)):
        advice = (f"look at the node {pod.spec.node_name}: its network plugin and container runtime",)
        seen = f"The node cannot make the sandbox of {pod.role}."
        return Finding("SandboxFailed", seen, (pod.place,), (*waits, event_step(house)), advice)
    return None


def upper(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
