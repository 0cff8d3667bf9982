"""What is wrong with one container of a Pod, and what its log says of it."""

from __future__ import annotations

import re

from rayfleet.diagnosis.connection import of_connection
from rayfleet.diagnosis.finding import Finding, Step, clipped
from rayfleet.diagnosis.log_lines import UNREACHABLE, Meaning, last_told, telling
from rayfleet.diagnosis.pod_state import Container, PodState
from rayfleet.diagnosis.refusals import event_step
from rayfleet.diagnosis.situation import Log, Situation, Told, newest
from rayfleet.resources.gcs_wait import NAME as WAIT

PULLING = ("ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable")
UNCONFIGURED = ("CreateContainerConfigError",)
UNSTARTABLE = ("CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun")
KILLED = 137
FRESH = 600.0  # seconds for which a restart of a container that is well again is still told
LACKING = (
    re.compile(r'(?P<kind>secret|configmap) "(?P<name>[^"]+)" not found', re.IGNORECASE),
    re.compile(r"couldn't find key (?P<key>\S+) in (?P<kind>Secret|ConfigMap) (?:[^/\s]+/)?(?P<name>\S+)", re.IGNORECASE),
    re.compile(r"references non-existent (?P<kind>secret|config) key: (?P<key>\S+)", re.IGNORECASE),
)


def of_container(situation: Situation, pod: PodState, container: Container) -> Finding | None:
    """The first thing that is wrong with it; None when it is well or only starts."""
    waiting = container.state.waiting
    if waiting and waiting.reason in PULLING:
        return pull(situation, pod, container, waiting.reason, waiting.message)
    if waiting and waiting.reason in UNCONFIGURED:
        return unconfigured(situation, pod, container, waiting.message)
    if waiting and waiting.reason in UNSTARTABLE:
        return unstartable(situation, pod, container, waiting.reason, waiting.message)
    restarting = container.restart_count and not container.ready and not initial_success(container)
    if (waiting and waiting.reason == "CrashLoopBackOff") or container.failed or restarting:
        return crashed(situation, pod, container)
    if container.state.running and not container.ready:
        return unready(situation, pod, container)
    return restarted(situation, pod, container)


def initial_success(container: Container) -> bool:
    ended = container.state.terminated
    return ended is not None and ended.exit_code == 0


def pull(situation: Situation, pod: PodState, container: Container, reason: str, message: str) -> Finding:
    image = pod.spec_of(container.name).image
    event = newest([each for each in situation.about("Pod", pod.name, "Failed") if "pull" in each.note or "image" in each.note])
    text = f"{message} {event.note if event else ''}"
    advice = f"correct the image in the Pod template: {image}"
    if re.search(r"unauthorized|authentication required|denied|forbidden|no basic auth", text, re.IGNORECASE):
        advice = "give the template imagePullSecrets that may read this registry, or correct the image"
    elif re.search(r"not found|manifest unknown|InvalidImageName|couldn't parse image", text, re.IGNORECASE):
        advice = f"there is no such image; correct name and tag in the Pod template: {image}"
    elif re.search(r"timeout|no such host|connection refused|i/o|unreachable", text, re.IGNORECASE):
        advice = "the node cannot reach the registry: look at its network, proxy and DNS, or use a mirror"
    why = waits(pod, container, reason, message, event)
    return Finding("ImagePull", f"The image {image} cannot be pulled.", (pod.place,), why, (advice,))


def unconfigured(situation: Situation, pod: PodState, container: Container, message: str) -> Finding:
    event = newest(situation.about("Pod", pod.name, "Failed"))
    return missing(pod, message, waits(pod, container, "CreateContainerConfigError", message, event))


def missing(pod: PodState, message: str, why: tuple[Step, ...]) -> Finding:
    """A Secret or ConfigMap that the Pod needs, or a key of it, is not there."""
    for pattern in LACKING:
        if found := pattern.search(message):
            parts = found.groupdict()
            kind = "Secret" if parts["kind"].lower() == "secret" else "ConfigMap"
            name, key = parts.get("name") or "", parts.get("key") or ""
            what = f"the key {key} of the {kind} {name}".rstrip() if key else f"the {kind} {name}"
            word = "secret generic" if kind == "Secret" else "configmap"
            create = f"create it: kubectl create {word} {name or 'NAME'} --from-literal={key or 'KEY'}=VALUE"
            advice = (create, "or correct the reference in the Pod template; the container then starts by itself")
            return Finding(
                f"Missing{kind}", f"{what[0].upper()}{what[1:]} that {pod.role} needs does not exist.", (pod.place,), why, advice
            )
    seen = f"A container of {pod.role} cannot be configured."
    return Finding("ContainerConfig", seen, (pod.place,), why, ("correct the Pod template as the message says",))


def unstartable(situation: Situation, pod: PodState, container: Container, reason: str, message: str) -> Finding:
    event = newest(situation.about("Pod", pod.name, "Failed"))
    why = waits(pod, container, reason, message, event)
    advice = ("correct command, args or securityContext of the container as the message says",)
    return Finding("ContainerCannotStart", f"The container {container.name} of {pod.role} cannot be started.", (pod.place,), why, advice)


def crashed(situation: Situation, pod: PodState, container: Container) -> Finding:
    """It ends again and again: out of memory, by what its log says, or because a probe fails."""
    why = [crash_step(pod, container)]
    if container.ended and container.ended.reason == "OOMKilled":
        return out_of_memory(pod, container, why)
    log, found = last_words(situation, pod, container)
    if found and found[0].of_head:
        return of_connection(situation, pod, found[0], (*why, log_step(log, found[1])))
    if found and found[0].problem:
        return Finding(found[0].problem, found[0].sentence(pod.role), (pod.place,), (*why, log_step(log, found[1])), found[0].advice)
    if probes := failed_probe(situation, pod, container):
        return probe_kills(pod, container, (*why, *probes, *((log_step(log, found[1]),) if found else log_gap(log))))
    backoff = newest(situation.about("Pod", pod.name, "BackOff"))
    why += [event_step(backoff)] if backoff else []
    why += [log_step(log, found[1])] if found else list(log_gap(log))
    seen = f"The container {container.name} of {pod.role} {'ends again and again' if container.restart_count else 'has failed'}."
    advice = [f"rayfleet logs {pod.name} -c {container.name}{' --previous' if container.restart_count else ''}"]
    if container.ended and container.ended.exit_code == KILLED:
        advice.append("exit code 137 is SIGKILL: look for memory (limits, the node), and for a probe that fails")
    if container.ended and container.ended.exit_code in (126, 127):
        advice.append("its command does not exist in the image: correct command and args, or the image")
    return Finding("CrashLoop", seen, (pod.place,), tuple(why), tuple(advice))


def out_of_memory(pod: PodState, container: Container, why: list[Step]) -> Finding:
    limit = pod.limit_of(container.name, "memory")
    than = f"its limit of {limit}" if limit else "there is"
    seen = f"The container {container.name} of {pod.role} uses more memory than {than}, and is killed."
    fewer = "set num-cpus: '0' in the head's rayStartParams, so that no task runs there" if pod.is_head else "run fewer tasks at once"
    advice = ("raise resources.limits.memory of the container in the template", f"or {fewer}")
    return Finding("OOMKilled", seen, (pod.place,), tuple(why), advice)


def unready(situation: Situation, pod: PodState, container: Container) -> Finding | None:
    """It runs, and nobody may use it yet: its log or its probe may say why."""
    log = situation.log(pod.name, container.name)
    found = telling(last_told(log.lines), head=pod.is_head)
    known = found if found and found[0].problem else None
    unhealthy = newest(situation.about("Pod", pod.name, "Unhealthy"))
    why = [Step("pod", f"{pod.name}: container {container.name} runs and is not ready")]
    why += [event_step(unhealthy)] if unhealthy else []
    began = situation.age(container.state.running.started_at if container.state.running else "")
    if known and known[0].of_head:
        return of_connection(situation, pod, known[0], (*why, log_step(log, known[1])))
    if container.name == WAIT and not known:
        head = situation.head
        silent = head is not None and head.ready and began > SILENT
        return of_connection(situation, pod, UNREACHABLE, (*why, *log_gap(log))) if silent else None
    if known:
        return Finding(known[0].problem, known[0].sentence(pod.role), (pod.place,), (*why, log_step(log, known[1])), known[0].advice)
    if unhealthy is None or began < SLOW:
        return None
    why += [log_step(log, found[1])] if found else list(log_gap(log))
    seen = f"The container {container.name} of {pod.role} runs, and its readiness probe fails."
    return Finding("NotReady", seen, (pod.place,), tuple(why), (f"rayfleet logs {pod.name} -c {container.name}",))


SILENT = 60.0  # seconds in which a worker finds a head that is ready
SLOW = 120.0  # seconds in which a container may become ready before its probe's failures are a finding


def restarted(situation: Situation, pod: PodState, container: Container) -> Finding | None:
    """It is well again, for now."""
    ended = container.last_state.terminated
    if not container.ready or ended is None or not container.restart_count or situation.age(ended.finished_at) > FRESH:
        return None
    if container in pod.initial and (ended.exit_code == 0 or initial_success(container)):
        return None
    finding = crashed(situation, pod, container)
    if finding.problem != "CrashLoop":
        return finding
    once = f"The container {container.name} of {pod.role} has ended, and runs again."
    seen = once if container.restart_count == 1 else finding.seen
    return Finding("Restarted", seen, finding.where, finding.why, finding.advice)


def last_words(situation: Situation, pod: PodState, container: Container) -> tuple[Log, tuple[Meaning, str] | None]:
    """The line of its log that tells most: of the life before where it has begun another, else of this one."""
    earlier, now = situation.log(pod.name, container.name, previous=True), situation.log(pod.name, container.name)
    order = (now, earlier) if container.state.terminated or not container.restart_count else (earlier, now)
    tries = [(log, found) for log in order if (found := telling(log.lines, head=pod.is_head))]
    known = [(log, found) for log, found in tries if found[0].problem]
    best = known or tries
    return best[0] if best else (order[0], None)


def failed_probe(situation: Situation, pod: PodState, container: Container) -> tuple[Step, ...]:
    """The kubelet ended it because its liveness or startup probe failed."""
    killing = newest([each for each in situation.about("Pod", pod.name, "Killing") if is_by_probe(each.note, container.name)])
    if killing is None:
        return ()
    unhealthy = newest([each for each in situation.about("Pod", pod.name, "Unhealthy") if not each.note.startswith("Readiness")])
    return (*((event_step(unhealthy),) if unhealthy else ()), event_step(killing))


def is_by_probe(note: str, container: str) -> bool:
    return f"{container} failed" in note and "probe" in note


def probe_kills(pod: PodState, container: Container, why: tuple[Step, ...]) -> Finding:
    seen = f"The container {container.name} of {pod.role} is restarted because its probe fails."
    advice = (
        f"rayfleet logs {pod.name} -c {container.name} --previous",
        "more CPU for the container, or a probe with more time (timeoutSeconds, failureThreshold), if it was only slow",
    )
    return Finding("ProbeFails", seen, (pod.place,), why, advice)


def crash_step(pod: PodState, container: Container) -> Step:
    ended, waiting = container.ended, container.state.waiting
    how = f"{waiting.reason}, " if waiting and waiting.reason else ""
    if ended:
        how += f"last exit code {ended.exit_code}" + (f" ({ended.reason})" if ended.reason else "")
        how += f": {clipped(ended.message)}" if ended.message else ""
    again = {0: "", 1: "; 1 restart"}.get(container.restart_count, f"; {container.restart_count} restarts")
    return Step("pod", f"{pod.name}: container {container.name}: {how or 'runs again'}{again}")


def waits(pod: PodState, container: Container, reason: str, message: str, event: Told | None) -> tuple[Step, ...]:
    """Why it waits, in the words of the Event where there is one, else in those of the status."""
    said = f"{pod.name}: container {container.name} waits: {reason}"
    return (Step("pod", said), event_step(event)) if event else (Step("pod", f"{said}: {clipped(message)}"),)


def log_step(log: Log, line: str) -> Step:
    before = ", the life before" if log.previous else ""
    return Step("log", f"{log.pod}/{log.container}{before}: {clipped(line)}")


def log_gap(log: Log) -> tuple[Step, ...]:
    return (Step("log", f"not readable: {clipped(log.refused)}"),) if log.refused else ()
