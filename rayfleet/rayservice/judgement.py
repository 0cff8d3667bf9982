"""The conditions of a RayService, from what is observed (KubeRay, 1.4 and 4.3). They are output: no action is decided by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rayfleet.api.excerpt import clip
from rayfleet.api.fault import Fault
from rayfleet.api.meta import Condition
from rayfleet.api.rayservice import ApplicationStatus, RayService
from rayfleet.planning.conditions import find
from rayfleet.rayservice.applications import applications_of
from rayfleet.rayservice.clusters import Roles
from rayfleet.rayservice.generations import has_room, timed_out
from rayfleet.rayservice.observed import Member, Observed
from rayfleet.rayservice.route import is_incremental, judged
from rayfleet.rayservice.silence import last_line, silent
from rayfleet.rayservice.suspension import is_complete

FAILED = ("DEPLOY_FAILED", "UNHEALTHY")

Applications = Mapping[str, ApplicationStatus]


def conditions(observed: Observed, service: RayService, roles: Roles, applications: Applications, endpoints: int) -> Iterator[Condition]:
    ready = ready_of(observed, service, roles, applications, endpoints)
    yield shortened(ready)
    yield upgrade(observed, service, roles, ready)
    yield rollback(service, roles, ready)
    if is_incremental(service) and not service.spec.suspend:
        yield shortened(judged(observed))
    yield from suspension(observed, service)


def shortened(condition: Condition) -> Condition:
    return Condition(condition.type, condition.status, condition.reason, clip(condition.message))


def ready_of(observed: Observed, service: RayService, roles: Roles, applications: Applications, endpoints: int) -> Condition:
    if service.spec.suspend:
        if is_complete(observed):
            return Condition("Ready", "False", "SuspendComplete", "The service is suspended")
        return Condition("Ready", "False", "SuspendInProgress", "The service is being suspended")
    if roles.active is None:
        return initializing(observed, service, roles, applications)
    if told := silent(observed, roles.active):
        return Condition("Ready", "False", "DashboardUnreachable", told)
    if wrong := complaints(observed, roles.active, settled(service, roles, applications)):
        return Condition("Ready", "False", "ApplicationsNotRunning", wrong)
    if endpoints == 0:
        return Condition("Ready", "False", "ZeroServeEndpoints", "No Pod takes requests")
    known = find(service.status.conditions, "Ready")
    if known and (roles.active.details is None or (known.status, known.reason) == ("True", "NonZeroServeEndpoints")):
        return Condition("Ready", known.status, known.reason, known.message)  # nothing was heard yet, or nothing else than before
    return Condition("Ready", "True", "NonZeroServeEndpoints", "Every application is running, and Pods take requests")


def settled(service: RayService, roles: Roles, applications: Applications) -> Applications:
    """Without those of which only the share of their replicas is being changed: they serve all the while."""
    if not is_incremental(service) or roles.second is None:
        return applications
    return {name: found for name, found in applications.items() if found.status != "DEPLOYING"}


def initializing(observed: Observed, service: RayService, roles: Roles, applications: Applications) -> Condition:
    if timed_out(observed, service, roles):
        told = "No cluster served within the initializing timeout; a change of the spec tries again"
        return Condition("Ready", "False", "InitializingTimeout", told)
    why = trouble(observed, "clusters")
    if roles.pending:
        why = silent(observed, roles.pending) or complaints(observed, roles.pending, applications)
    return Condition("Ready", "False", "Initializing", why or "The first cluster is being made ready")


def hindrance(observed: Observed, service: RayService, second: Member) -> str:
    """Why the second cluster gets no further by itself; "" while it may."""
    failed = {name: found for name, found in applications_of(service, second).items() if found.status in FAILED}
    return silent(observed, second) or complaints(observed, second, failed)


def complaints(observed: Observed, member: Member, applications: Applications) -> str:
    """What keeps the applications of a cluster from running, one sentence for each; "" when nothing does."""
    told = [refused] if (refused := trouble(observed, f"serve/{member.name}")) else []
    told += [complaint(name, found) for name, found in sorted(applications.items()) if found.status != "RUNNING"]
    return "; ".join(told)


def complaint(name: str, application: ApplicationStatus) -> str:
    said = [application.message, *(part.message for _, part in sorted(application.serve_deployment_statuses.items()))]
    why = next((line for line in map(last_line, said) if line), "")
    return f"application {name} is {application.status}" + (f": {why}" if why else "")


def trouble(observed: Observed, scope: str) -> str:
    backoff = observed.backoffs.get(scope)
    return backoff.message if backoff and backoff.event else ""


def upgrade(observed: Observed, service: RayService, roles: Roles, ready: Condition) -> Condition:
    if service.spec.suspend:
        return Condition("UpgradeInProgress", "False", ready.reason, "No upgrade in progress")
    if roles.active is None:
        return Condition("UpgradeInProgress", "False", "Initializing", "The first cluster is being made ready")
    if roles.second is not None:
        why = hindrance(observed, service, roles.second)
        told = "A cluster is to take the active one's place" + (f": {why}" if why else "")
        return shortened(Condition("UpgradeInProgress", "True", "BothActivePendingClustersExist", told))
    if roles.goal is None:
        why = "" if has_room(observed) else "; it waits until a cluster that is needed no longer is gone"
        return Condition("UpgradeInProgress", "True", "PendingClusterMissing", f"A new cluster is to be made{why}")
    return Condition("UpgradeInProgress", "False", "NoPendingCluster", "The active cluster is the one that is wanted")


def rollback(service: RayService, roles: Roles, ready: Condition) -> Condition:
    if roles.leaving is not None:
        told = f"The spec no longer asks for RayCluster {roles.leaving.name}: its traffic goes back to the active cluster"
        return Condition("RollbackInProgress", "True", "DesiredClusterSpecChanged", told)
    phase = ready.reason if service.spec.suspend else "NoPendingCluster"
    return Condition("RollbackInProgress", "False", phase, "No rollback in progress")


def suspension(observed: Observed, service: RayService) -> Iterator[Condition]:
    if not service.spec.suspend:
        yield Condition("Suspending", "False", "NotSuspended", "")
        resumed = find(service.status.conditions, "Suspended")
        again = resumed is not None and (resumed.status == "True" or resumed.reason == "RayServiceResumed")
        yield Condition("Suspended", "False", "RayServiceResumed" if again else "NotSuspended", "")
    elif is_complete(observed):
        yield Condition("Suspending", "False", "SuspendComplete", "All that the service made is gone")
        yield Condition("Suspended", "True", "SuspendComplete", "All that the service made is gone")
    else:
        yield Condition("Suspending", "True", "SuspendInProgress", "All that the service made is to go")
        yield Condition("Suspended", "False", "SuspendInProgress", "")


def invalid(faults: Sequence[Fault]) -> Condition:
    return shortened(Condition("Ready", "False", "ValidationFailed", "; ".join(map(str, faults))))
