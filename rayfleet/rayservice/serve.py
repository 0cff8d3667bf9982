"""The Serve config: which cluster is told it, and when; and what Serve says of itself (Ray, C).

It is sent exactly when what Ray reports as its goal is not what is wanted, or says more than that. What Ray does not report is seen by the
hash on the cluster of what it was last given. The hash is written before, where something that is wanted is missing until Ray is told: then
an edit that takes a field back again is seen, whatever became of the call. Where nothing is missing it is written when Ray has taken it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rayfleet.api import labels
from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.api.views import PodView
from rayfleet.planning.actions import Patch, Subject
from rayfleet.planning.convergence import holds
from rayfleet.planning.plan import Call
from rayfleet.ray import serve
from rayfleet.ray.answer import Accepted, Act, Heard, Target
from rayfleet.ray.serve_config import ServeConfig
from rayfleet.rayservice.observed import Member, Observed

SETTLED, PUT_OFF = 10.0, 300.0
"""Seconds in which Ray may show that it took a config over before it is told again: where applications are missing, and where it only calls
them something else than we do."""
ASK_AGAIN = 2.0
CAPACITY = "target_capacity"
"""In a Serve config: the percentage of its replicas that every deployment has."""
HEALTHY = "HEALTHY"
OF_ALL = frozenset({"logging_config"})
"""What is said once for all applications."""
SUBJECT = Subject("RayCluster", "RayClusters")


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is to be done about the config of one cluster. `wait` is in seconds: there is something to be seen by then."""

    call: Call | None = None
    mark: Patch | None = None
    wait: float | None = None


def scope(member: Member) -> str:
    return f"serve/{member.name}"


def details_of(member: Member) -> serve.Details | None:
    """What Serve says of itself; None while it does not say it."""
    return member.details.answer if member.details and isinstance(member.details.answer, serve.Details) else None


def deployment(observed: Observed, member: Member, config: ServeConfig, capacity: int | None = None) -> Deployment:
    """Of the cluster that the config is for. `capacity` in percent; None: as the config says."""
    details = details_of(member)
    if not config.document or member.target is None or details is None or member.details is None:
        return Deployment()
    document = config.document if capacity is None else {**config.document, CAPACITY: capacity}
    act = serve.deploy(document)
    taken = taken_last(observed, member, act)
    if taken and member.details.at <= taken.at:
        return Deployment(wait=ASK_AGAIN)
    given = member.cluster.metadata.annotation(labels.SERVE_CONFIG)
    sized, held = has_capacity(details, document), reports(details, config)
    right = reports(details, config, just=True)
    marked = None if given == config.hash else mark(member, config)
    if sized and right and (given in ("", config.hash) or taken):
        return Deployment(mark=marked)
    patience = SETTLED if lacks(details, config) else PUT_OFF
    if taken and (left := taken.at + patience - observed.now) > 0:
        return Deployment(mark=marked if sized and held else None, wait=left)
    if observed.held_back(scope(member)):
        return Deployment()
    if not sized and right and given in ("", config.hash):
        return Deployment(call=sizing(member, member.target, act, document.get(CAPACITY)))
    call = Call(
        target=member.target,
        message=act,
        scope=scope(member),
        subject=f"Serve config for RayCluster {member.name}",
        note=f"Sent the Serve config to RayCluster {member.name}: {why(details, config)}",
        event="UpdatedServeApplications",
        failed_event="FailedToUpdateServeApplications",
    )
    return Deployment(call=call, mark=None if held else marked)


def resized(observed: Observed, member: Member, config: ServeConfig, capacity: int) -> Deployment:
    """Of a cluster that the config is not for: what it runs goes on, with another share of its replicas. It is told what it reports itself,
    as Ray takes a share together with a whole config only. One that forgot everything is told again what it was given, if that is known."""
    details = details_of(member)
    known = config.document if is_given(member, config) else {}
    if member.target is None or details is None or member.details is None or not (details.applications or known):
        return Deployment()
    document = {**(reported(details) if details.applications else known), CAPACITY: capacity}
    act = serve.deploy(document)
    told = taken_last(observed, member, act)
    if (details.applications and has_capacity(details, document)) or observed.held_back(scope(member)):
        return Deployment()
    if told and (left := told.at + SETTLED - observed.now) > 0:
        return Deployment(wait=ASK_AGAIN if member.details.at <= told.at else left)
    return Deployment(call=sizing(member, member.target, act, capacity))


def taken_last(observed: Observed, member: Member, act: Act) -> Heard | None:
    """That Ray took it over, if it was the last thing that it was told. Before a clock was set back was another time."""
    for told, heard in list(member.results.items())[-1:]:
        if told == act and isinstance(heard.answer, Accepted) and heard.at <= observed.now:
            return heard
    return None


def sizing(member: Member, target: Target, act: Act, capacity: float | None) -> Call:
    share = "all of its replicas" if capacity in (None, 100) else f"{capacity:g} % of its replicas"
    return Call(
        target=target,
        message=act,
        scope=scope(member),
        subject=f"Target capacity for RayCluster {member.name}",
        note=f"RayCluster {member.name} is to have {share}",
        event="UpdatedServeTargetCapacity",
        failed_event="FailedToUpdateTargetCapacity",
    )


def is_given(member: Member, config: ServeConfig) -> bool:
    """Was it last given just this config?"""
    return member.cluster.metadata.annotation(labels.SERVE_CONFIG) == config.hash


def reported(details: serve.Details) -> dict[str, Any]:
    """The config that would change nothing."""
    applications = [found.deployed_app_config for _, found in sorted(details.applications.items()) if found.deployed_app_config is not None]
    options = {"proxy_location": details.proxy_location, "http_options": details.http_options}
    return {"applications": applications, **{name: value for name, value in options.items() if value is not None}}


def has_capacity(details: serve.Details, document: Mapping[str, Any]) -> bool:
    """Does Ray report the document's target capacity? None is all of it."""
    wanted, found = document.get(CAPACITY), details.target_capacity
    return (100.0 if wanted is None else wanted) == (100.0 if found is None else found)


def reports(details: serve.Details, config: ServeConfig, *, just: bool = False) -> bool:
    """Does Ray report these applications, and no others, as what it is to run; `just` these: and nothing of them that the config does not
    say? Ray keeps what it was told and no defaults; but what is said of all applications it writes to each (Ray:
    ServeController.apply_config)."""
    told = {name: found.deployed_app_config for name, found in details.applications.items() if found.deployed_app_config is not None}
    wanted = config.applications
    if told.keys() != wanted.keys() or not all(holds(wanted[name], told[name]) for name in wanted):
        return False
    common = {name: value for name, value in config.document.items() if name in OF_ALL}
    return not just or all(holds(told[name], {**common, **wanted[name]}) for name in wanted)


def lacks(details: serve.Details, config: ServeConfig) -> list[str]:
    return sorted(config.applications.keys() - details.applications.keys())


def why(details: serve.Details, config: ServeConfig) -> str:
    missing = lacks(details, config)
    return f"it does not run {', '.join(missing)}" if missing else "the config has changed"


def mark(member: Member, config: ServeConfig) -> Patch:
    return annotate(member, {labels.SERVE_CONFIG: config.hash}, "it was given another Serve config")


def annotate(member: Member, annotations: Mapping[str, str | None], reason: str) -> Patch:
    meta = member.cluster.metadata
    return Patch(
        resource=RAYCLUSTERS,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        patch={"metadata": {"annotations": dict(annotations)}},
        scope=f"cluster/{meta.name}",
        reason=reason,
        subject=SUBJECT,
        event="",
        failed_event="FailedToUpdateRayCluster",
    )


def runs_all(member: Member, config: ServeConfig) -> bool:
    """Is every wanted application running, with the config that is wanted?"""
    details = details_of(member)
    if details is None or not details.applications or not all(found.status == "RUNNING" for found in details.applications.values()):
        return False
    given = member.cluster.metadata.annotation(labels.SERVE_CONFIG)
    return not config.document or (reports(details, config) and given in ("", config.hash))


def runs_any(member: Member) -> bool:
    details = details_of(member)
    return details is not None and any(found.status == "RUNNING" for found in details.applications.values())


def proxy_at(details: serve.Details, address: str) -> str:
    """The status of the proxy on the node of that address; "" when Serve knows of none."""
    return next((proxy.status for proxy in details.proxies.values() if proxy.node_ip == address), "")


def sends_well(head: PodView, details: serve.Details | None) -> bool:
    """Are requests sent to the head, and does Serve say that its proxy is well?"""
    return head.metadata.label(labels.SERVE) == "true" and details is not None and proxy_at(details, head.status.pod_ip) == HEALTHY


def head_proxy_answers(member: Member) -> bool | None:
    """Does the proxy on the head take requests? None while that is not known: the requests that it gets are taken away by what itself said
    since it got them, for what Serve said may be older."""
    head, details = member.head, details_of(member)
    if head is None:
        return None
    if sends_well(head, details):
        return True
    status = proxy_at(details, head.status.pod_ip) if details else ""
    if head.metadata.label(labels.SERVE) != "true" and status not in ("", HEALTHY):
        return False
    return None if member.health is None else is_success(member.health)


def is_success(heard: Heard) -> bool:
    answer: Any = heard.answer
    return isinstance(answer, bytes) and answer.strip() == b"success"
