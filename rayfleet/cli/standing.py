"""How a Ray object stands, for a person who waits for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rayfleet.cli.job_course import standing as how_it_ended

Obj = dict[str, Any]
RUNNING = {"Running": "running", "Waiting": "waiting for its user", "Suspended": "suspended"}
OVER = {"Complete": "over", "Failed": "failed"}
SERVING = ("activeServiceStatus", "pendingServiceStatus")


@dataclass(frozen=True)
class Standing:
    """`name` is KIND/NAME but for a RayCluster; `ready`: it is what was waited for; `hopeless`: it will not be. `cluster` is the RayCluster
    behind it, "" for none; `told`: how it ended, in one sentence."""

    name: str
    state: str
    head: str
    workers: str
    note: str
    hopeless: bool = False
    ready: bool = False
    cluster: str = ""
    told: str = ""

    @property
    def line(self) -> str:
        about = f", head {self.head}, workers {self.workers}" if self.cluster else ""
        return f"{self.name}: {self.state}{about}" + (f" ({self.note})" if self.note else "")


def missing(kind: str, name: str, *, hopeless: bool) -> Standing:
    return Standing(title(kind, name), "not there", "-", "-", "", hopeless)


def title(kind: str, name: str) -> str:
    return name if kind == "RayCluster" else f"{kind.lower()}/{name}"


def of_object(found: Obj, pods: Iterable[Obj], since: str = "") -> Standing:
    """Of one of our kinds; `pods` are those of the cluster that `cluster_of` names. Containers that began before `since` (RFC 3339) are of
    a fleet that is no more; what is said of them is not true yet."""
    return STANDINGS[found["kind"]](found, list(pods), since)


def cluster_of(found: Obj) -> str:
    """The RayCluster to look at: its own name, or that of the one that a job or a service uses or makes ready; "" without one."""
    status = found.get("status") or {}
    if found["kind"] == "RayCluster":
        return str(found["metadata"]["name"])
    parts = [status, *(status.get(field) or {} for field in reversed(SERVING))]
    return next((str(part["rayClusterName"]) for part in parts if part.get("rayClusterName")), "")


def standing(cluster: Obj, pods: Iterable[Obj], since: str = "") -> Standing:
    """Of a RayCluster. Ready means: the operator has seen this spec, the head is ready and so is every worker that the spec asks for."""
    pods = [*pods]
    status = cluster.get("status") or {}
    conditions = conditions_of(status)
    seen = status.get("observedGeneration") == cluster["metadata"].get("generation")
    head, workers = counted(status)
    full = (status.get("readyWorkerReplicas") or 0) >= (status.get("desiredWorkerReplicas") or 0)
    done = seen and head == "ready" and full and status.get("state") == "ready" and all(begun >= since for begun in beginnings(pods))
    invalid = conditions.get("Valid", {}).get("status") == "False" and seen
    note = conditions["Valid"].get("message", "") if invalid else "" if done else waiting_for(pods)
    state = "ready" if done else "refused" if invalid else "starting"
    name = cluster["metadata"]["name"]
    return Standing(name, state, head, workers, note, invalid, done, name)


def of_job(job: Obj, pods: list[Obj], since: str) -> Standing:
    """Of a RayJob: it runs, is its user's to begin or to resume, or has ended, well or not."""
    status, metadata = job.get("status") or {}, job["metadata"]
    deployment, message = str(status.get("jobDeploymentStatus") or ""), " ".join(str(status.get("message") or "").split())
    base = behind(job, status.get("rayClusterStatus") or {}, pods)
    if deployment == "ValidationFailed":
        return replace(base, state="refused", note=message, hopeless=True)
    if deployment in OVER:
        well = deployment == "Complete" and status.get("jobStatus") == "SUCCEEDED"
        return replace(base, state=OVER[deployment], cluster="", note="", hopeless=not well, ready=well, told=how_it_ended(job))
    seen = status.get("observedGeneration") in (None, 0, metadata.get("generation"))
    if deployment in RUNNING and seen and all(begun >= since for begun in beginnings(pods)):
        return replace(base, state=RUNNING[deployment], note="", ready=True)
    return replace(base, state=deployment.lower() or "new", note=base.note or message)


def of_service(service: Obj, pods: list[Obj], since: str) -> Standing:
    """Of a RayService: what the present spec asks for takes the requests, and no change of clusters is under way."""
    status, conditions = service.get("status") or {}, conditions_of(service.get("status") or {})
    part = next((status[field] for field in reversed(SERVING) if (status.get(field) or {}).get("rayClusterName")), {})
    base = behind(service, part.get("rayClusterStatus") or {}, pods)
    ready, seen = conditions.get("Ready", {}), status.get("observedGeneration") == service["metadata"].get("generation")
    if ready.get("reason") == "ValidationFailed" and seen:
        return replace(base, state="refused", note=ready.get("message", ""), hopeless=True)
    if conditions.get("Suspended", {}).get("status") == "True" and seen:
        return replace(base, state="suspended", note="", ready=True)
    changing = conditions.get("UpgradeInProgress", {}).get("status") == "True"
    fresh = all(begun >= since for begun in beginnings(pods))
    if ready.get("status") == "True" and seen and not changing and fresh:
        return replace(base, state="ready", note="", ready=True)
    note = base.note or str((conditions.get("UpgradeInProgress", {}) if changing else ready).get("message") or "")
    return replace(base, state="changing" if changing and ready.get("status") == "True" else "starting", note=note)


def of_cron_job(cron: Obj, pods: list[Obj], since: str) -> Standing:
    """Of a RayCronJob: the operator has taken its schedule up. Its status says of no fault, so the spec is looked at here."""
    from rayfleet.api.config import Configuration
    from rayfleet.sim.ideal import refusals

    name = title("RayCronJob", cron["metadata"]["name"])
    if faults := refusals(cron, Configuration(), 0.0):
        return Standing(name, "refused", "-", "-", "; ".join(map(str, faults)), hopeless=True)
    seen = (cron.get("status") or {}).get("observedGeneration") == cron["metadata"].get("generation")
    state = ("suspended" if cron["spec"].get("suspend") else "scheduled") if seen else "new"
    return Standing(name, state, "-", "-", "", ready=seen)


STANDINGS: Mapping[str, Callable[[Obj, list[Obj], str], Standing]] = {
    "RayCluster": standing,
    "RayJob": of_job,
    "RayService": of_service,
    "RayCronJob": of_cron_job,
}


def behind(found: Obj, cluster: Obj, pods: list[Obj]) -> Standing:
    """What the cluster behind a job or a service says; `cluster` is its status, as its owner copies it."""
    head, workers = counted(cluster)
    return Standing(title(found["kind"], found["metadata"]["name"]), "", head, workers, waiting_for(pods), cluster=cluster_of(found))


def conditions_of(status: Obj) -> dict[str, Obj]:
    return {each["type"]: each for each in status.get("conditions") or ()}


def counted(status: Obj) -> tuple[str, str]:
    """How the head and the workers of a cluster with this status are."""
    head = conditions_of(status).get("HeadPodReady", {}).get("status") == "True"
    return "ready" if head else "starting", f"{status.get('readyWorkerReplicas') or 0}/{status.get('desiredWorkerReplicas') or 0}"


def beginnings(pods: Iterable[Obj]) -> Iterator[str]:
    """When each container began, as RFC 3339; "" for one that does not run."""
    for pod in pods:
        for container in (pod.get("status") or {}).get("containerStatuses") or ():
            yield ((container.get("state") or {}).get("running") or {}).get("startedAt") or ""


def waiting_for(pods: Iterable[Obj]) -> str:
    """Why a Pod does not run, in the kubelet's words; "" when none says so."""
    for pod in sorted(pods, key=lambda each: str(each["metadata"]["name"])):
        status = pod.get("status") or {}
        for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
            waiting = (container.get("state") or {}).get("waiting") or {}
            if waiting.get("message"):
                return f"{pod['metadata']['name']}: {waiting.get('reason')}: {waiting['message']}"
    return ""
