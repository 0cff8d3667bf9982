"""What `rayfleet doctor --cluster` makes of an API server's answers: rows, each with what it is, how it stands, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rayfleet.api.config import FEATURE_GATES
from rayfleet.api.crds import crds
from rayfleet.cli import rights
from rayfleet.cli.check import MISSING, OFF, OK, UNKNOWN, Row
from rayfleet.cli.crd_difference import difference, maker
from rayfleet.cli.rights import Right
from rayfleet.cli.settings import BY_FIELD

FIELDS_NAMED = 6
OLDEST = (1, 19)  # events.k8s.io/v1
RULES_SINCE = (1, 25)  # validation rules in definitions


@dataclass(frozen=True)
class Facts:
    """Answers of one API server. `served`: the resources of each group and version that was asked for (`apps/v1` -> names), empty when it
    is not served. `definitions`: by name; None where there is none, a text where not readable. `allowed`: each verb of each right;
    None where the server does not say. `leases`: (namespace, holder) of operators' leases; None when they may not be read."""

    version: Mapping[str, Any]
    served: Mapping[str, frozenset[str]]
    definitions: Mapping[str, Mapping[str, Any] | str | None]
    allowed: Mapping[tuple[Right, str], bool | None]
    leases: Sequence[tuple[str, str]] | None = None
    yunikorn: bool | None = None
    reconciled: frozenset[str] = field(default_factory=frozenset)


class AddOn(NamedTuple):
    name: str
    version: str
    resource: str
    serves: str
    need: str = ""


ADD_ONS = (
    AddOn("cert-manager", "cert-manager.io/v1", "certificates", "tlsOptions"),
    AddOn("Gateway API", "gateway.networking.k8s.io/v1", "httproutes", "RayService upgrades step by step", "Gateways"),
    AddOn("OpenShift Routes", "route.openshift.io/v1", "routes", "enableIngress by a Route", "Routes"),
    AddOn("admission policies", "admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "rayfleet crds --policies"),
    AddOn("Volcano", "scheduling.volcano.sh/v1beta1", "podgroups", "gang scheduling"),
    AddOn("KAI scheduler", "scheduling.run.ai/v2alpha2", "podgroups", "gang scheduling"),
    AddOn("scheduler-plugins", "scheduling.x-k8s.io/v1alpha1", "podgroups", "gang scheduling"),
    AddOn("Kueue", "kueue.x-k8s.io/v1beta1", "clusterqueues", "queues, by suspending RayClusters"),
    AddOn("Prometheus Operator", "monitoring.coreos.com/v1", "podmonitors", "metrics scraped by declaration"),
)


class Need(NamedTuple):
    """Rights that go together. `required`: without them the operator does nothing."""

    name: str
    rights: tuple[Right, ...]
    required: bool = False


NEEDS = (
    Need("RayClusters", rights.CLUSTERS, required=True),
    Need("the lease", rights.ELECTION, required=True),
    Need("the autoscaler", (*rights.AUTOSCALING, *rights.HANDED_ON)),
    Need("Ingress", rights.INGRESS),
    Need("Routes", rights.ROUTES),
    Need("Gateways", rights.GATEWAYS),
    Need("tokens", rights.TOKENS),
    Need("Redis clean-up", rights.CLEANUP),
    Need("network policies", rights.NETWORK),
    Need("certificates", rights.CERTIFICATES),
    Need("RocksDB claims", rights.STORES),
    Need("others' leases", rights.RIVALS),
)


class Feature(NamedTuple):
    """`need`, `add_on` and `gate` name what it hangs on; `fields` what a definition must keep; `unused` why this version has it not."""

    name: str
    need: str = ""
    add_on: str = ""
    gate: str = ""
    fields: tuple[str, ...] = ()
    unused: str = ""


FEATURES = (
    Feature("autoscaler beside the head", need="the autoscaler", fields=("spec.enableInTreeAutoscaling",)),
    Feature("Ingress of the head", need="Ingress"),
    Feature("Route of the head", need="Routes", add_on="OpenShift Routes"),
    Feature("RayService upgrades step by step", need="Gateways", add_on="Gateway API"),
    Feature("token authentication", need="tokens", fields=("spec.authOptions",)),
    Feature("fault tolerance by Redis", need="Redis clean-up", fields=("spec.gcsFaultToleranceOptions",)),
    Feature(
        "fault tolerance by RocksDB",
        need="RocksDB claims",
        gate="GCSFaultToleranceEmbeddedStorage",
        fields=("spec.gcsFaultToleranceOptions.storage",),
    ),
    Feature("network policies", need="network policies", gate="RayClusterNetworkPolicy", fields=("spec.networkPolicy",)),
    Feature("mutual TLS", need="certificates", add_on="cert-manager", gate="RayClusterMTLS", fields=("spec.tlsOptions",)),
    Feature("gang scheduling", unused=BY_FIELD["batch_scheduler"].unused),
)


def rows(facts: Facts) -> list[Row]:
    """All of them, in the order in which they are read."""
    found = [*server_rows(facts), *definition_rows(facts), *right_rows(facts), *add_on_rows(facts), *lease_rows(facts)]
    return [*found, *kind_rows(facts), *(feature_row(facts, feature) for feature in FEATURES)]


def server_rows(facts: Facts) -> Iterator[Row]:
    text = str(facts.version.get("gitVersion") or "unknown")
    numbers = tuple(int("".join(filter(str.isdigit, str(facts.version.get(part) or "0"))) or 0) for part in ("major", "minor"))
    if numbers < OLDEST:
        yield Row("server", "Kubernetes", MISSING, f"{text}: too old, events.k8s.io/v1 came with 1.19")
    elif numbers < RULES_SINCE:
        yield Row("server", "Kubernetes", OK, f"{text}; rules in definitions are not heeded before 1.25, the operator judges alone")
    else:
        yield Row("server", "Kubernetes", OK, text)
    lacking = sorted(resource for resource in kinds_needed() if not is_served(facts, *resource))
    told = ", ".join(f"{resource}.{version}" for version, resource in lacking)
    yield Row("server", "kinds", MISSING if lacking else OK, f"not served: {told}" if lacking else "every kind that is needed is served")


def kinds_needed() -> set[tuple[str, str]]:
    """(group and version, resource) of what RayClusters need besides themselves."""
    versions = {"": "v1"}
    asked = [right for need in NEEDS if need.name in ("RayClusters", "the lease", "the autoscaler", "Ingress") for right in need.rights]
    plain = [right for right in asked if "/" not in right.resource and right.group != "ray.io"]
    return {(versions.get(right.group, f"{right.group}/v1"), right.resource) for right in plain}


def is_served(facts: Facts, version: str, resource: str) -> bool:
    return resource in facts.served.get(version, ())


def definition_rows(facts: Facts) -> Iterator[Row]:
    for ours in crds():
        name, kind = ours["metadata"]["name"], ours["spec"]["names"]["kind"]
        found = facts.definitions.get(name)
        absent = MISSING if kind == "RayCluster" else OFF
        if found is None:
            yield Row("definitions", kind, absent, "not installed: rayfleet crds | kubectl apply -f -")
        elif isinstance(found, str):
            served = is_served(facts, "ray.io/v1", ours["spec"]["names"]["plural"])
            yield Row("definitions", kind, UNKNOWN if served else absent, f"{'served' if served else 'not served'}; not readable: {found}")
        else:
            yield definition_row(kind, ours, found, absent)


def definition_row(kind: str, ours: Mapping[str, Any], found: Mapping[str, Any], absent: str) -> Row:
    versions = [version["name"] for version in found["spec"]["versions"] if version.get("served")]
    if "v1" not in versions:
        return Row("definitions", kind, absent, f"serves {', '.join(versions) or 'nothing'} and not v1")
    lost = difference(ours, found)
    text = f"{', '.join(versions)}; {maker(found)}"
    if lost:
        more = f" and {len(lost) - FIELDS_NAMED} more" if len(lost) > FIELDS_NAMED else ""
        text += f"; prunes {', '.join(lost[:FIELDS_NAMED])}{more}"
    return Row("definitions", kind, OK, text)


def right_rows(facts: Facts) -> Iterator[Row]:
    for need in NEEDS:
        if any(need.name == add_on.need and not is_served(facts, add_on.version, add_on.resource) for add_on in ADD_ONS):
            continue
        refused = refusals(facts, need)
        unsaid = any(facts.allowed.get((right, verb)) is None for right in need.rights for verb in right.verbs)
        if refused:
            yield Row("rights", need.name, MISSING if need.required else OFF, f"not allowed: {'; '.join(refused)}")
        else:
            yield Row("rights", need.name, UNKNOWN if unsaid else OK, "the server does not say" if unsaid else "all allowed")


def refusals(facts: Facts, need: Need) -> list[str]:
    found = []
    for right in need.rights:
        verbs = [verb for verb in right.verbs if facts.allowed.get((right, verb)) is False]
        if verbs:
            found.append(f"{', '.join(verbs)} {right.resource}{f'.{right.group}' if right.group else ''}")
    return found


def add_on_rows(facts: Facts) -> Iterator[Row]:
    for add_on in ADD_ONS:
        there = is_served(facts, add_on.version, add_on.resource)
        yield Row("add-ons", add_on.name, OK if there else OFF, f"{add_on.version if there else 'not installed'} (for {add_on.serves})")
    states = {True: (OK, "runs"), False: (OFF, "not seen"), None: (UNKNOWN, "Deployments may not be read")}
    state, says = states[facts.yunikorn]
    yield Row("add-ons", "YuniKorn", state, f"{says} (for gang scheduling)")


def lease_rows(facts: Facts) -> Iterator[Row]:
    if facts.leases is None:
        yield Row("operator", "lease", UNKNOWN, "leases may not be read")
    elif not facts.leases:
        yield Row("operator", "lease", OFF, f"no lease {rights.LEASE}: no operator has run here")
    for namespace, holder in facts.leases or ():
        yield Row(
            "operator", "lease", OK if holder else OFF, f"{namespace}/{rights.LEASE}: {f'held by {holder}' if holder else 'held by nobody'}"
        )


def kind_rows(facts: Facts) -> Iterator[Row]:
    for ours in crds():
        kind, plural = ours["spec"]["names"]["kind"], ours["spec"]["names"]["plural"]
        if kind not in facts.reconciled:
            yield Row("features", kind, OFF, "declared, and not looked after by this version")
        elif not is_served(facts, "ray.io/v1", plural):
            yield Row("features", kind, OFF, "its definition is missing")
        else:
            yield Row("features", kind, OK, "looked after")


def feature_row(facts: Facts, feature: Feature) -> Row:
    """On, or everything that turns it off."""
    why = [feature.unused] if feature.unused else []
    if not is_served(facts, "ray.io/v1", "rayclusters"):
        why.append("there are no RayClusters")
    if feature.add_on and not any(is_served(facts, each.version, each.resource) for each in ADD_ONS if each.name == feature.add_on):
        why.append(f"{feature.add_on} is not installed")
    if any(refusals(facts, need) for need in NEEDS if need.name == feature.need):
        why.append(f"rights for {feature.need} are missing")
    definition = facts.definitions.get("rayclusters.ray.io")
    if isinstance(definition, Mapping):
        lost = difference(crds()[0], definition)
        why += [f"the installed definition drops {name}" for name in feature.fields if name in lost]
    if why:
        return Row("features", feature.name, OFF, "; ".join(why))
    gated = feature.gate and not FEATURE_GATES[feature.gate]
    return Row("features", feature.name, OK, f"with --feature-gates {feature.gate}=true" if gated else "on")
