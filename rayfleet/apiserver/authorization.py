"""Who may do what: service accounts what RBAC gives them (rbac.authorization.k8s.io/v1), everybody else with a token everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, forbidden

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api
    from rayfleet.apiserver.auth import User
    from rayfleet.apiserver.call import Call

ACCOUNT = "system:serviceaccount:"
_GROUP = "rbac.authorization.k8s.io"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for; `resource` may have a subresource: pods/log. namespace "": the whole cluster."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def authorize(call: Call, user: User) -> None:
    """Raises 403."""
    if user.trusted:
        return
    asked = _asked(call)
    if permitted(call.api, user, asked) is None:
        raise refusal(user, asked)
    # A WebSocket opens with a GET, but what it does is no reading (AuthorizePodWebsocketUpgradeCreatePermission).
    opens = call.address.subresource in ("exec", "attach", "portforward") and "Upgrade" in call.request.headers
    if opens and permitted(call.api, user, replace(asked, verb="create")) is None:
        raise forbidden(asked.group, "pods", asked.name, "")


def permitted(api: Api, user: User, asked: Attributes) -> str | None:
    """The reason why it is allowed; None when it is not."""
    if user.trusted:
        return ""
    for record in api.store.select(f"clusterrolebindings.{_GROUP}"):
        if _grants(api, user, record.decode(), "", asked):
            return f'RBAC: allowed by ClusterRoleBinding "{record.name}" of {_granted(record.decode(), user)}'
    for record in api.store.select(f"rolebindings.{_GROUP}", asked.namespace) if asked.namespace else ():
        if _grants(api, user, record.decode(), asked.namespace, asked):
            return f'RBAC: allowed by RoleBinding "{record.name}/{record.namespace}" of {_granted(record.decode(), user)}'
    return None


def _asked(call: Call) -> Attributes:
    address = call.address
    verb = _VERBS.get(call.request.method, "get" if address.name else "list")
    if call.flag("watch"):
        verb = "watch"
    elif verb == "delete" and not address.name:
        verb = "deletecollection"
    resource = f"{address.served.kind.plural}/{address.subresource}" if address.subresource else address.served.kind.plural
    namespace = address.name if call.kind.resource == "namespaces" else address.namespace
    return Attributes(verb, address.served.group, resource, namespace or "", address.name)


def _grants(api: Api, user: User, binding: Obj, namespace: str, asked: Attributes) -> bool:
    if not any(_is(subject, user, namespace) for subject in binding.get("subjects") or ()):
        return False
    return any(_covers(rule, asked) for rule in _rules(api, binding["roleRef"], namespace))


def _is(subject: Obj, user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name")
    if kind == "ServiceAccount":
        return user.name == f"{ACCOUNT}{subject.get('namespace') or namespace}:{name}"
    return name in user.groups if kind == "Group" else name == user.name


def _rules(api: Api, reference: Obj, namespace: str) -> Iterator[Obj]:
    if reference.get("kind") == "Role":
        role = api.store.get(f"roles.{_GROUP}", namespace, reference["name"])
    else:
        role = api.store.get(f"clusterroles.{_GROUP}", "", reference["name"])
    yield from (role.decode().get("rules") or ()) if role else ()


def _covers(rule: Obj, asked: Attributes) -> bool:
    star = {"*"}
    subresource = asked.resource.partition("/")[2]
    resources = {"*", asked.resource, *([f"*/{subresource}"] if subresource else [])}
    return bool(
        (star | {asked.verb}) & set(rule.get("verbs") or ())
        and (star | {asked.group}) & set(rule.get("apiGroups") or ())
        and resources & set(rule.get("resources") or ())
        and (not rule.get("resourceNames") or asked.name in rule["resourceNames"])
    )


def _granted(binding: Obj, user: User) -> str:
    role = binding["roleRef"]
    namespace, _, name = user.name.removeprefix(ACCOUNT).partition(":")
    return f'{role["kind"]} "{role["name"]}" to ServiceAccount "{name}/{namespace}"'


def refusal(user: User, asked: Attributes) -> StatusError:
    plural = asked.resource.partition("/")[0]
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {asked.verb} resource "{asked.resource}" in API group "{asked.group}" {where}'
    return forbidden(asked.group, plural, asked.name, why)
