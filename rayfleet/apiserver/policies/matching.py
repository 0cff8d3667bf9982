"""Which requests a policy or a binding is meant for."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.apiserver.policies.request import Request
from rayfleet.apiserver.record import Obj
from rayfleet.planning.selection import selects

EXEMPT = frozenset(
    f"{plural}.admissionregistration.k8s.io" for plural in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
)
"""kinds that no policy can lock up"""


def matches(constraints: Obj, request: Request) -> bool:
    """Of MatchResources; without rules every resource is meant."""
    if any(_fits(rule, request, constraints) for rule in constraints.get("excludeResourceRules") or ()):
        return False
    rules = constraints.get("resourceRules")
    if rules and not any(_fits(rule, request, constraints) for rule in rules):
        return False
    return _namespace_fits(constraints.get("namespaceSelector") or {}, request) and _object_fits(
        constraints.get("objectSelector") or {}, request
    )


def _fits(rule: Obj, request: Request, constraints: Obj) -> bool:
    kind = request.served.kind
    scope = rule.get("scope") or "*"
    return (
        bool({"*", request.operation} & set(rule.get("operations") or ()))
        and any(_among(rule, group, version) for group, version in _versions(request, constraints))
        and bool(set(rule.get("resources") or ()) & set(_names(kind.plural, request.subresource)))
        and (scope == "*" or (scope == "Namespaced") == kind.namespaced)
        and (not rule.get("resourceNames") or request.name in rule["resourceNames"])
    )


def _among(rule: Obj, group: str, version: str) -> bool:
    return bool({"*", group} & set(rule.get("apiGroups") or ()) and {"*", version} & set(rule.get("apiVersions") or ()))


def _versions(request: Request, constraints: Obj) -> Iterator[tuple[str, str]]:
    """Under which groups and versions the object may be looked at."""
    served = request.served
    yield served.group, served.version
    if (constraints.get("matchPolicy") or "Equivalent") == "Equivalent":
        kind = served.kind
        yield from ((kind.group, version) for version in (*kind.versions, kind.version))
        for alias in kind.aliases:
            group, _, version = alias.rpartition("/")
            yield group, version


def _names(plural: str, subresource: str) -> tuple[str, ...]:
    if subresource:
        return (f"{plural}/{subresource}", f"{plural}/*", f"*/{subresource}", "*/*")
    return (plural, "*", "*/*")


def _namespace_fits(selector: Obj, request: Request) -> bool:
    """What lies in no namespace is never left out by its namespace; a Namespace is taken for its own."""
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return True
    if request.served.kind.resource == "namespaces":
        home = request.obj or request.old
    elif not request.namespace:
        return True
    else:
        home = request.home
    return selects(selector, labels(home))


def _object_fits(selector: Obj, request: Request) -> bool:
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return True
    return any(each is not None and selects(selector, labels(each)) for each in (request.obj, request.old))


def labels(obj: Obj | None) -> dict[str, str]:
    return (obj or {}).get("metadata", {}).get("labels") or {}
