"""Why a RayService is in the state it is in: its spec, its clusters, its applications, and where its traffic goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rayfleet.api.decode import Undecodable
from rayfleet.api.meta import Condition
from rayfleet.api.raycluster import OTHER_MANAGER
from rayfleet.api.rayservice import ApplicationStatus, RayService, ServingClusterStatus
from rayfleet.diagnosis.finding import Diagnosis, Finding, Step, clipped, merged
from rayfleet.diagnosis.maker import Maker, condition, held_back, invalid, last_line, of_clusters, refused, undecodable, unseen
from rayfleet.diagnosis.refusals import condition_step
from rayfleet.planning.conditions import is_true

FAILED = ("DEPLOY_FAILED", "UNHEALTHY")
FOLLOW = ("DashboardUnreachable", "ZeroServeEndpoints", "InitializingTimeout")
"""What only follows where something is wrong with a cluster."""
SEEN = {
    "DashboardUnreachable": "Ray on the cluster that takes the traffic does not answer the operator.",
    "ZeroServeEndpoints": "No Pod takes requests.",
    "InitializingTimeout": "No cluster served within the initializing timeout; a change of the spec tries again.",
}
ADVICE = {
    "DashboardUnreachable": ("is port 8265 of the head open to the operator (NetworkPolicies)? rayfleet doctor --cluster",),
    "ZeroServeEndpoints": ("is a proxy up on a Pod? rayfleet service status NAME tells; the readiness probe of workers asks port 8000",),
    "InitializingTimeout": ("mend what kept it and apply the file again, or raise the annotation ray.io/initializing-timeout",),
}


def diagnose_service(maker: Maker) -> Diagnosis:
    meta, service = maker.metadata, maker.object
    if isinstance(service, Undecodable):
        return Diagnosis(meta.namespace, meta.name, "refused", "it cannot be read", tuple(undecodable(maker)), maker.unread, maker.kind)
    findings = merged(wrong(maker, service))
    if any(each.problem not in FOLLOW for each in findings):
        findings = tuple(each for each in findings if each.problem not in FOLLOW)
    state = state_of(maker, service, findings)
    return Diagnosis(meta.namespace, meta.name, state, summary(service), findings, tuple(notes(maker, service)), maker.kind)


def wrong(maker: Maker, service: RayService) -> Iterator[Finding]:
    status, conditions = service.status, service.status.conditions
    if maker.metadata.deletion_timestamp:
        yield from held_back(maker)
        return
    if service.spec.managed_by == OTHER_MANAGER:
        return
    yield from unseen(maker, status.observed_generation, not conditions and not maker.clusters)
    ready = condition(conditions, "Ready", "False")
    if ready is not None and ready.reason == "ValidationFailed":
        yield invalid(maker, ready.message, Step("condition", "Ready=False: ValidationFailed"))
    elif not is_true(conditions, "Ready"):
        yield from refused(maker)
    for part in parts(service):
        yield from of_clusters(maker, part.ray_cluster_name)
        yield from of_applications(part)
    if ready is not None and ready.reason in SEEN:
        advice = tuple(line.replace("NAME", maker.metadata.name) for line in ADVICE[ready.reason])
        yield Finding(ready.reason, SEEN[ready.reason], maker.place, (condition_step(ready),), advice)


def parts(service: RayService) -> list[ServingClusterStatus]:
    found = (service.status.active_service_status, service.status.pending_service_status)
    return [each for each in found if each.ray_cluster_name]


def of_applications(part: ServingClusterStatus) -> Iterator[Finding]:
    place = (f"raycluster/{part.ray_cluster_name}",)
    for name, application in sorted(part.application_statuses.items()):
        if application.status in FAILED:
            advice = ("correct the application's code or its part of spec.serveConfigV2; it is deployed again when either changes",)
            seen = f"The application {name} is {application.status}."
            yield Finding("ApplicationFailed", seen, place, tuple(steps(application)), advice)
        elif application.status != "RUNNING" and any(each.message for each in application.serve_deployment_statuses.values()):
            advice = ("give the worker groups room for what its deployments ask for (ray_actor_options, maxReplicas)",)
            yield Finding("ApplicationWaits", f"The application {name} is {application.status}.", place, tuple(steps(application)), advice)


def steps(application: ApplicationStatus) -> Iterator[Step]:
    """In Serve's own words; of a traceback the last line."""
    if application.message:
        yield Step("serve", last_line(application.message))
    for name, each in sorted(application.serve_deployment_statuses.items()):
        if each.message and each.status != "HEALTHY":
            yield Step("serve", f"deployment {name} is {each.status}: {last_line(each.message)}")


def state_of(maker: Maker, service: RayService, findings: tuple[Finding, ...]) -> str:
    conditions = service.status.conditions
    if maker.metadata.deletion_timestamp:
        return "deleting"
    if any(each.problem == "InvalidSpec" for each in findings):
        return "refused"
    if is_true(conditions, "Suspended"):
        return "suspended"
    if is_true(conditions, "Ready") and not findings:
        return "ready"
    return "broken" if findings else "starting"


def summary(service: RayService) -> str:
    status = service.status
    active, pending = status.active_service_status, status.pending_service_status
    shown = active if active.ray_cluster_name else pending
    if not shown.ray_cluster_name:
        return "no cluster yet"
    word = f"on raycluster/{shown.ray_cluster_name}"
    ends = f"{status.num_serve_endpoints} Pods take requests"
    coming = f"; raycluster/{pending.ray_cluster_name} is to take over" if active.ray_cluster_name and pending.ray_cluster_name else ""
    return f"{running(shown.application_statuses)} {word}, {ends}{coming}"


def running(applications: Mapping[str, ApplicationStatus]) -> str:
    well = sum(each.status == "RUNNING" for each in applications.values())
    return f"{well} of {len(applications)} applications run" if applications else "no applications yet"


def notes(maker: Maker, service: RayService) -> Iterator[str]:
    conditions = service.status.conditions
    if service.spec.managed_by == OTHER_MANAGER:
        yield f"spec.managedBy is {service.spec.managed_by}: this operator leaves the service to another one"
    if is_true(conditions, "Suspended"):
        yield "it is suspended, so it has no clusters; spec.suspend: false brings them back"
    for word, status in (("Suspending", "True"), ("UpgradeInProgress", "True"), ("RollbackInProgress", "True"), ("GatewayReady", "False")):
        found = condition(conditions, word, status)
        if found is not None:
            yield f"{word}: {clipped(found.message)}"
    yield from starting(condition(conditions, "Ready", "False"))
    for cluster in maker.clusters:
        yield from (f"raycluster/{cluster.name}: {note}" for note in cluster.notes if not cluster.findings)
    yield from (f"not seen: {clipped(text)}" for text in maker.unread)


def starting(ready: Condition | None) -> Iterator[str]:
    if ready is not None and ready.reason == "Initializing":
        yield clipped(ready.message)
