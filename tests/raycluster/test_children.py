"""The children besides Pods: made, put right, removed."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import INGRESSES, ROLEBINDINGS, ROLES, SERVICEACCOUNTS, SERVICES
from rayfleet.api.names import other_account_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import ServiceView
from rayfleet.planning.actions import Create, Delete, Patch
from rayfleet.planning.backoff import Backoff
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.plan import plan
from rayfleet.resources import ingress, rbac, services
from rayfleet.resources.gateway import cluster_serve_service
from tests.raycluster.vocabulary import NOW, child_of, cluster, created, deleted, group, head, observed, template, worker

AUTOSCALED = {"enableInTreeAutoscaling": True}


def changed(manifest: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """The manifest with another value at a dotted place."""
    copied = copy.deepcopy(manifest)
    target = copied
    *path, last = place.split("/")
    for name in path:
        target = target[name]
    target[last] = value
    return copied


def patches(made: Plan) -> list[dict[str, Any]]:
    return [dict(action.patch) for action in made.actions if isinstance(action, Patch)]


def accounts(of: RayCluster, name: str = "demo") -> dict[Any, Any]:
    return {
        SERVICEACCOUNTS: (child_of(rbac.service_account(of, name)),),
        ROLES: (child_of(rbac.role(of, name)),),
        ROLEBINDINGS: (child_of(rbac.role_binding(of, name)),),
    }


def head_service_changed(of: RayCluster, place: str, value: Any) -> tuple[ServiceView, ...]:
    return (child_of(changed(services.head_service(of, Configuration()), place, value), ServiceView),)


def test_a_selector_that_was_changed_is_put_right_to_the_last_label() -> None:
    of = cluster()
    wrong = head_service_changed(of, "spec/selector", {"app": "other"})
    (patch,) = patches(plan(observed(of, head(), services=wrong)))
    assert patch["spec"]["selector"]["app"] is None
    assert patch["spec"]["selector"]["ray.io/cluster"] == "demo"


def test_what_the_api_server_adds_is_no_difference() -> None:
    of = cluster()
    defaulted = head_service_changed(of, "spec/ipFamilies", ["IPv4"])
    assert plan(observed(of, head(), services=defaulted)).actions == ()


def test_moved_ports_reach_the_service() -> None:
    before = cluster()
    moved = cluster(headGroupSpec={"rayStartParams": {"dashboard-port": "8365"}, "template": template()})
    old = (child_of(services.head_service(before, Configuration()), ServiceView),)
    (patch,) = patches(plan(observed(moved, head(), services=old)))
    assert {port["name"]: port["port"] for port in patch["spec"]["ports"]}["dashboard"] == 8365


def test_another_type_needs_another_service() -> None:
    before = cluster()
    wanted = cluster(headGroupSpec={"template": template(), "serviceType": "NodePort"})
    old = (child_of(services.head_service(before, Configuration()), ServiceView),)
    made = plan(observed(wanted, head(), services=old))
    assert deleted(made) == {"demo-head-svc": "spec.type cannot be changed in place"}
    assert created(plan(observed(wanted, head(), services=()))) == ["demo-head-svc"]


def test_an_autoscaled_cluster_gets_its_account_before_its_head() -> None:
    of = cluster(**AUTOSCALED)
    first = plan(observed(of, services=()))
    assert [action.resource for action in first.actions if isinstance(action, Create)] == [SERVICEACCOUNTS, ROLES, SERVICES]
    assert created(plan(observed(of, others=accounts(of)))) == [head().name]


def test_a_role_is_bound_only_once_it_is_seen() -> None:
    """The API looks up in the role whether its rights may be given away, and refuses a binding that comes before it."""
    of = cluster(**AUTOSCALED)
    seen = {resource: children for resource, children in accounts(of).items() if resource != ROLEBINDINGS}
    made = [action.resource for action in plan(observed(of, head(), others=seen)).actions if isinstance(action, Create)]
    assert made == [ROLEBINDINGS]


def test_a_users_own_account_is_bound_and_not_made() -> None:
    own = template()
    own["spec"]["serviceAccountName"] = "runner"
    of = cluster(headGroupSpec={"template": own}, **AUTOSCALED)
    made = plan(observed(of, services=(), others={ROLES: (child_of(rbac.role(of, "demo")),)}))
    kinds = [action.resource for action in made.actions if isinstance(action, Create)]
    assert SERVICEACCOUNTS not in kinds
    assert head().name in created(made)
    (binding,) = [action for action in made.actions if isinstance(action, Create) and action.resource == ROLEBINDINGS]
    assert binding.manifest["subjects"][0]["name"] == "runner"


def test_of_two_clusters_whose_long_names_end_alike_the_second_gets_accounts_of_another_name() -> None:
    """KubeRay cuts these names at the front; the usual name stays with who was first."""
    asked = cluster(enableInTreeAutoscaling=True)
    of = msgspec.structs.replace(asked, metadata=msgspec.structs.replace(asked.metadata, name=f"abc{'x' * 50}"))
    service = (child_of(services.head_service(of, Configuration()), ServiceView),)
    usual, other = "x" * 50, other_account_name(of.metadata.name)
    assert created(plan(observed(of, services=service))) == [usual, usual]
    taken = Backoff(f"serviceaccount/{usual}", 1, NOW + 5, "it belongs to another cluster", "NameConflict")
    assert created(plan(observed(of, services=service, backoffs=(taken,)))) == [other, other]
    later = plan(observed(of, services=service, others=accounts(of, other)))
    (new,) = [action for action in later.actions if isinstance(action, Create)]
    assert new.manifest["spec"]["serviceAccountName"] == other, "also when the operator remembers no conflict"
    assert not deleted(later)
    told = plan(observed(of, services=service, others=accounts(of, other), backoffs=(taken,))).status
    assert told is not None
    assert "NameConflict" not in str(told)


def test_a_short_name_that_somebody_else_has_is_told_and_not_gone_round() -> None:
    taken = Backoff("serviceaccount/demo", 1, NOW + 5, "it belongs to nobody here", "NameConflict")
    made = plan(observed(cluster(enableInTreeAutoscaling=True), backoffs=(taken,)))
    assert created(made) == ["demo"], "the role, and no account"
    assert "NameConflict" in str(made.status)


def test_a_role_that_gives_away_more_is_put_right() -> None:
    of = cluster(**AUTOSCALED)
    wide = changed(rbac.role(of, "demo"), "rules", [*rbac.RULES, {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    made = plan(observed(of, head(), others={**accounts(of), ROLES: (child_of(wide),)}))
    assert patches(made) == [{"rules": rbac.RULES}]


def test_accounts_go_when_autoscaling_is_turned_off() -> None:
    made = plan(observed(cluster(), head(), others=accounts(cluster(**AUTOSCALED))))
    removed = [action.resource for action in made.actions if isinstance(action, Delete)]
    assert set(removed) == {SERVICEACCOUNTS, ROLES, ROLEBINDINGS}
    assert set(deleted(made).values()) == {"the spec no longer asks for it"}


def test_an_ingress_follows_its_options_and_goes_with_them() -> None:
    def with_host(host: str) -> RayCluster:
        return cluster(headGroupSpec={"template": template(), "enableIngress": True, "ingressOptions": {"host": host}})

    old = {INGRESSES: (child_of(ingress.ingress(with_host("a.test"))),)}
    (patch,) = patches(plan(observed(with_host("b.test"), head(), others=old)))
    assert patch["spec"]["rules"][0]["host"] == "b.test"
    assert list(deleted(plan(observed(cluster(), head(), others=old)))) == ["demo-head-ingress"]


def test_a_serve_service_comes_and_goes_with_its_annotation() -> None:
    asked = cluster(annotations={"ray.io/enable-serve-service": "true"})
    assert created(plan(observed(asked, head()))) == ["demo-serve-svc"]
    both = tuple(child_of(make, ServiceView) for make in (services.head_service(asked, Configuration()), services.serve_service(asked)))
    assert list(deleted(plan(observed(cluster(), head(), services=both)))) == ["demo-serve-svc"]


def test_without_a_port_for_it_there_is_no_serve_service_and_everything_else() -> None:
    own = template(ports=[{"name": "dashboard", "containerPort": 8265}])
    asked = cluster(annotations={"ray.io/enable-serve-service": "true"}, headGroupSpec={"template": own})
    (made,) = created(plan(observed(asked)))
    assert made.startswith("demo-head-")


def test_what_a_user_hung_below_a_cluster_is_left_alone() -> None:
    own = services.serve_service(cluster())
    own["metadata"]["name"] = "my-own"
    both = (child_of(services.head_service(cluster(), Configuration()), ServiceView), child_of(own, ServiceView))
    assert plan(observed(cluster(), head(), services=both)).actions == ()


def test_the_serve_service_that_its_rayservice_made_is_left_to_it() -> None:
    for of in (cluster(), cluster(annotations={"ray.io/enable-serve-service": "true"})):
        made = child_of(cluster_serve_service(of), ServiceView)
        assert plan(observed(of, head(), services=(child_of(services.head_service(of, Configuration()), ServiceView), made))).actions == ()


def test_a_refused_change_waits_and_stops_nothing_else() -> None:
    of = cluster(group(replicas=1))
    refused = Backoff("service/demo-head-svc", 1, NOW + 5, "denied", "FailedToUpdateService")
    wrong = head_service_changed(of, "spec/selector", {"app": "other"})
    made = plan(observed(of, head(), services=wrong, backoffs=(refused,)))
    assert patches(made) == []
    assert len(created(made)) == 1


@pytest.mark.parametrize("edit", [{"rayVersion": "2.61.0"}, {"headGroupSpec": {"template": template(image="rayproject/ray:2.61.0")}}])
def test_recreate_takes_all_pods_when_the_spec_is_another(edit: dict[str, Any]) -> None:
    of = cluster(group(replicas=1), upgradeStrategy={"type": "Recreate"})
    (made,) = [action for action in plan(observed(of, services=())).actions if isinstance(action, Create) and action.scope == "head"]
    annotations = made.manifest["metadata"]["annotations"]
    running = head(annotations=annotations)
    assert plan(observed(of, running, worker(0))).actions == ()
    edited = cluster(group(replicas=1), upgradeStrategy={"type": "Recreate"}, **edit)
    gone = deleted(plan(observed(edited, running, worker(0))))
    assert set(gone.values()) == {"the spec has changed, and upgradeStrategy is Recreate"}
    assert len(gone) == 2


@pytest.mark.parametrize("version", ["nightly", "v1.6.2", "v1.7.0", "rayfleet-0.0.1"])
def test_recreate_takes_over_a_head_of_another_operator_without_a_restart(version: str) -> None:
    of = cluster(upgradeStrategy={"type": "Recreate"})
    other = head(annotations={"ray.io/kuberay-version": version, "ray.io/upgrade-strategy-recreate-hash": "ANOTHER"})
    made = plan(observed(of, other))
    assert deleted(made) == {}
    (patch,) = patches(made)
    assert set(patch["metadata"]["annotations"]) == {"ray.io/kuberay-version", "ray.io/upgrade-strategy-recreate-hash"}


def test_counts_may_change_without_a_recreation() -> None:
    def of(replicas: int) -> RayCluster:
        return cluster(group(replicas=replicas), upgradeStrategy={"type": "Recreate"})

    (made,) = [action for action in plan(observed(of(1), services=())).actions if isinstance(action, Create) and action.scope == "head"]
    running = head(annotations=made.manifest["metadata"]["annotations"])
    assert deleted(plan(observed(of(2), running, worker(0)))) == {}


def test_a_head_that_must_not_run_twice_is_not_replaced() -> None:
    status = {"conditions": [{"type": "RayClusterProvisioned", "status": "True"}]}
    of = cluster(annotations={"ray.io/disable-provisioned-head-restart": "true"}, status=status)
    assert created(plan(observed(of, gone=(head().name,)))) == []
