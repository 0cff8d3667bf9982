"""The rights that we ship are those that are used: none is missing, none is too many."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.objects import NAME, SYSTEM_NAMESPACE, gates, single_namespace
from rayfleet.api import labels, names
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, ObjectMeta
from rayfleet.cli.rights import (
    AUTOSCALING,
    CLEANUP,
    CLUSTERS,
    DEFINITIONS,
    ELECTION,
    GATED,
    HANDED_ON,
    INGRESS,
    RIVALS,
    TOKENS,
    WORK,
    Right,
)
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.planning.actions import Create
from rayfleet.planning.plan import Event
from rayfleet.runtime.events import WINDOW, Recorder
from rayfleet.runtime.gate import Gate
from rayfleet.sim.ideal import next_steps
from rayfleet.sim.service_specs import incremental
from testbed.audit import Asked
from testbed.control_plane import ControlPlane
from testbed.process import Process
from tests.gateway.definitions import DEFINITIONS as ROADS
from tests.issuer.definitions import DEFINITIONS as CERTIFIERS
from tests.local.waiting import eventually
from tests.runtime.clocks import ManualClock
from tests.testbed.operator import Operators
from tests.testbed.place import Place, cluster

pytestmark = pytest.mark.testbed

RBAC = "rbac.authorization.k8s.io/v1"
STORES = ("--feature-gates", "GCSFaultToleranceEmbeddedStorage=true")
RETAINED = {"spec": {"gcsFaultToleranceOptions": {"storage": {"deletionPolicy": "Retain"}}}}
FOREIGN: dict[str, dict[str, Any]] = {
    "services": {"spec": {"ports": [{"port": 1}]}},
    f"{RBAC}/rolebindings": {"roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": "Role", "name": "other"}},
    "networking.k8s.io/v1/networkpolicies": {"spec": {"podSelector": {}}},
    "cert-manager.io/v1/issuers": {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "spec": {"selfSigned": {}}},
    "cert-manager.io/v1/certificates": {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "spec": {"secretName": "other", "issuerRef": {"name": "nobody"}},
    },
    "networking.k8s.io/v1/ingresses": {"spec": {"defaultBackend": {"service": {"name": "other", "port": {"number": 1}}}}},
}
TAKEN = {names.gateway_name("road"), names.http_route_name("road")}
NO_REQUEST = {
    ("update", "ray.io/rayclusters/finalizers"),
    ("update", "ray.io/rayservices/finalizers"),
    ("update", "ray.io/rayjobs/finalizers"),
    ("update", "ray.io/raycronjobs/finalizers"),
    ("delete", "secrets"),
    ("delete", "persistentvolumeclaims"),
} | {(verb, f"{right.group}/{right.resource}".lstrip("/")) for right in HANDED_ON for verb in right.verbs}
"""Asked for by an admission plugin, or by the guard against escalation, inside a create of ours; tests below prove that they are needed."""


def granted(rights: Iterable[Right]) -> set[tuple[str, str]]:
    return {(verb, f"{right.group}/{right.resource}" if right.group else right.resource) for right in rights for verb in right.verbs}


def used(requests: Iterable[Asked]) -> set[tuple[str, str]]:
    return {(request.verb, request.resource) for request in requests if not request.resource.startswith("/")}


@pytest.fixture
def certified(plane: ControlPlane, tmp_path: Path) -> Iterator[None]:
    """An issuer in cert-manager's place, the kinds of the Gateway API, and the rights of the gates."""
    plane.kubectl("apply", "--filename", "-", text="\n---\n".join(map(json.dumps, (*CERTIFIERS, *ROADS, *gates()))))
    plane.kubectl("wait", "--for=condition=Established", "--all", "customresourcedefinitions")
    issuer = Process([sys.executable, "-m", "tests.issuer", "--kubeconfig", str(plane.kubeconfig())], tmp_path / "issuer.log")
    yield
    issuer.kill()
    plane.kubectl("delete", "--wait=false", "customresourcedefinitions", *(each["metadata"]["name"] for each in (*CERTIFIERS, *ROADS)))


async def test_every_right_is_used_and_none_is_missed(operators: Operators, place: Place, certified: None, tmp_path: Path) -> None:
    take_names(place)
    gates = "RayCronJob=true,RayClusterNetworkPolicy=true,RayClusterMTLS=true,GCSFaultToleranceEmbeddedStorage=true"
    operator = operators.start("--feature-gates", gates)
    live_a_life(place)
    live_with_a_store(place)
    live_as_a_service(place)
    live_step_by_step(place)
    live_as_a_job(place)
    live_by_the_clock(place)
    await tell_the_same_again(operators, place)
    assert operator.process.stop() == 0
    mine = ("", place.name, SYSTEM_NAMESPACE)  # namespaces of other tests may still be going away, and then nothing is made in them
    asked = [request for request in operators.asked() if request.namespace in mine]
    assert [str(request) for request in asked if request.code in (401, 403)] == []
    rights = (*WORK, *ELECTION, *RIVALS, *DEFINITIONS, *GATED)
    assert sorted(used(asked) - granted(rights)) == [], "asked for, and granted by something else than our manifest"
    assert sorted(granted(rights) - used(asked) - NO_REQUEST) == [], "granted, and never used"


def take_names(place: Place) -> None:
    """Objects of other owners have the names that a cluster's children are to have: whose they are must be asked.

    A role that is somebody else's is never bound, so the binding's name is taken from another cluster.
    """
    for resource, name in children("taken").items():
        taken = name if resource != f"{RBAC}/rolebindings" else children("bound")[resource]
        place.create(resource, {"metadata": {"name": taken}, **FOREIGN.get(resource, {})})
    for resource, name in protections("walled").items():
        place.create(resource, {"metadata": {"name": name}, **FOREIGN.get(resource, {})})
    place.create("ray.io/v1/rayclusters", protected(cluster("walled", workers=0)))
    bound = whole("bound")
    bound["spec"]["suspend"] = True
    place.create("ray.io/v1/rayclusters", bound)
    owner = place.create("ray.io/v1/rayclusters", whole("taken"))
    creates = [action for action in next_steps(owner, Configuration(), time.time()).plan.actions if isinstance(action, Create)]
    (head,) = (action.name for action in creates if action.resource == PODS)
    place.create("pods", {"metadata": {"name": head}, "spec": {"containers": [{"name": "other", "image": "other"}]}})


def whole(name: str) -> dict[str, Any]:
    """A cluster with every kind of child."""
    made = cluster(name, workers=1)
    made["metadata"]["annotations"] = {labels.ENABLE_SERVE_SERVICE: "true"}
    made["spec"] |= {"enableInTreeAutoscaling": True, "upgradeStrategy": {"type": "Recreate"}}
    made["spec"]["headGroupSpec"]["enableIngress"] = True
    return made


def protected(made: dict[str, Any]) -> dict[str, Any]:
    made["spec"] |= {"authOptions": {"mode": "token"}, "networkPolicy": {"mode": "DenyAllIngress"}, "tlsOptions": {"enabled": True}}
    return made


def protections(name: str) -> dict[str, str]:
    """What keeps strangers out of `protected`, one of each kind."""
    return {
        "secrets": names.token_secret_name(name),
        "networking.k8s.io/v1/networkpolicies": names.head_policy_name(name),
        "cert-manager.io/v1/issuers": f"ray-ca-issuer-{name}",
        "cert-manager.io/v1/certificates": f"ray-head-cert-{name}",
    }


def children(name: str) -> dict[str, str]:
    """What `whole` has besides its Pods and head Service."""
    return {
        "services": names.serve_service_name(name),
        "serviceaccounts": names.account_name(name),
        f"{RBAC}/roles": names.account_name(name),
        f"{RBAC}/rolebindings": names.account_name(name),
        "networking.k8s.io/v1/ingresses": names.ingress_name(name),
    }


def live_a_life(place: Place) -> None:
    """Create, scale, lose, fail, spoil, adopt, edit, delete, and apply again."""
    eventually(lambda: len(place.events("NameConflict")) >= len(children("taken")) + 1 + len(protections("walled")), 30.0)
    place.create("ray.io/v1/rayclusters", protected(whole("demo")))
    place.await_ready(workers=1)
    place.scale(2)
    place.await_ready(workers=2)
    walls = {resource: name for resource, name in protections("demo").items() if resource != "secrets"}
    for resource, name in (children("demo") | walls).items():
        key, value = min(object_of(place, resource, name)["metadata"]["labels"].items())
        patch(place, resource, name, {"metadata": {"labels": {key: "somebodys"}}})
        eventually(lambda where=(resource, name), pair=(key, value): pair in object_of(place, *where)["metadata"]["labels"].items())
    patch(place, "pods", head_of(place), {"metadata": {"annotations": {labels.KUBERAY_VERSION: "v0"}}})
    eventually(lambda: object_of(place, "pods", head_of(place))["metadata"]["annotations"][labels.KUBERAY_VERSION] != "v0")
    failed = head_of(place)
    patch(place, "pods", failed, {"metadata": {"annotations": {"rayfleet.dev/hollow": "fail"}}})
    eventually(lambda: failed not in {pod["metadata"]["name"] for pod in place.pods()})
    place.await_ready(workers=2)
    none = {
        "metadata": {"annotations": {labels.ENABLE_SERVE_SERVICE: None}},
        "spec": {"enableInTreeAutoscaling": False, "networkPolicy": None, "tlsOptions": None},
    }
    patch(place, "ray.io/v1/rayclusters", "demo", none | {"spec": {**none["spec"], "headGroupSpec": {"enableIngress": False}}})
    eventually(lambda: not any(object_of(place, resource, name) for resource, name in (children("demo") | walls).items()))
    place.plane.request("DELETE", place.path("ray.io/v1/rayclusters", "demo"))
    eventually(lambda: not [pod for pod in place.pods() if "demo" in pod["metadata"]["name"]], 60.0)
    place.make_cluster(workers=1)
    place.await_ready(workers=1)


def patch(place: Place, resource: str, name: str, body: dict[str, Any]) -> None:
    code, answer = place.plane.request("PATCH", place.path(resource, name), body, kind="application/merge-patch+json")
    assert code == 200, answer


def object_of(place: Place, resource: str, name: str) -> dict[str, Any]:
    """{} when it is not there."""
    code, answer = place.plane.request("GET", place.path(resource, name))
    return answer if code == 200 else {}


def head_of(place: Place) -> str:
    (head,) = (pod for pod in place.pods() if pod["metadata"]["labels"][labels.NODE_TYPE] == labels.HEAD)
    return str(head["metadata"]["name"])


def live_with_a_store(place: Place) -> None:
    """In Redis, and on a volume; each once with the name that it needs taken."""
    store = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    place.create("persistentvolumeclaims", {"metadata": {"name": names.claim_name("barred")}, "spec": store})
    for name in ("barred", "kept"):
        place.create("ray.io/v1/rayclusters", with_store(name, backend="rocksdb"))
    eventually(lambda: head_service_exists(place, "kept") and object_of(place, "persistentvolumeclaims", names.claim_name("kept")), 30.0)
    patch(place, "ray.io/v1/rayclusters", "kept", RETAINED)
    eventually(lambda: not object_of(place, "persistentvolumeclaims", names.claim_name("kept"))["metadata"].get("ownerReferences"))
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "other", "image": "other"}]}}
    place.create("batch/v1/jobs", {"metadata": {"name": names.cleanup_name("hindered")}, "spec": {"template": template, "suspend": True}})
    for name in ("hindered", "cleaned"):
        place.create("ray.io/v1/rayclusters", with_store(name, redisAddress="redis:6379"))
    eventually(lambda: all(head_service_exists(place, name) for name in ("hindered", "cleaned")), 30.0)
    for name in ("hindered", "cleaned"):
        place.plane.request("DELETE", place.path("ray.io/v1/rayclusters", name))
    eventually(lambda: not place.cluster("cleaned") and not place.cluster("hindered"), 60.0)
    eventually(lambda: any("storage namespace" in text for text in place.events("ForceDeletedStuckCluster")))


def live_as_a_service(place: Place) -> None:
    """Nobody answers at its head: a cluster with a token, which is read, and the end of both."""
    spec = {**cluster("unused", workers=0)["spec"], "authOptions": {"mode": "token"}}
    given = {"rayClusterConfig": spec, "serveConfigV2": "applications: [{name: a, import_path: 'm:app'}]"}
    shop = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "shop"}, "spec": given}
    place.create("ray.io/v1/rayservices", shop)
    eventually(lambda: any(pod["metadata"]["labels"].get(labels.SERVE) == "false" and is_ready(pod) for pod in place.pods()), 30.0)
    eventually(lambda: object_of(place, "ray.io/v1/rayservices", "shop").get("status", {}).get("conditions"))
    place.plane.request("DELETE", place.path("ray.io/v1/rayservices", "shop"))
    eventually(lambda: not object_of(place, "ray.io/v1/rayservices", "shop"), 60.0)


def live_step_by_step(place: Place) -> None:
    """Names that are taken, a Gateway and a route that are put right, and their end. Nobody answers at its head: what serves is said by
    hand."""
    spec = {**cluster("unused", workers=0)["spec"], "enableInTreeAutoscaling": True}
    given = {"rayClusterConfig": spec, "upgradeStrategy": incremental()}
    road = ("ray.io/v1/rayservices", "road")
    gateway = ("gateway.networking.k8s.io/v1/gateways", names.gateway_name("road"))
    route = ("gateway.networking.k8s.io/v1/httproutes", names.http_route_name("road"))
    for (resource, name), kind in ((gateway, "Gateway"), (route, "HTTPRoute")):
        api = resource.rpartition("/")[0]
        place.create(resource, {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": {}})
    place.create(road[0], {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "road"}, "spec": given})
    eventually(lambda: object_of(place, *road).get("status", {}).get("pendingServiceStatus", {}).get("rayClusterName"), 30.0)
    serves = {"rayClusterName": object_of(place, *road)["status"]["pendingServiceStatus"]["rayClusterName"]}
    code, answer = place.plane.request(
        "PATCH", place.path(*road) + "/status", {"status": {"activeServiceStatus": serves}}, kind="application/merge-patch+json"
    )
    assert code == 200, answer
    eventually(lambda: {name for _, name in (gateway, route) if any(name in text for text in place.events("NameConflict"))} == TAKEN, 30.0)
    for taken in (gateway, route):
        place.plane.request("DELETE", place.path(*taken))
    eventually(lambda: all(object_of(place, *own).get("metadata", {}).get("ownerReferences") for own in (gateway, route)), 60.0)
    patch(place, *gateway, {"spec": {"gatewayClassName": "somebodys"}})
    patch(place, *route, {"spec": {"rules": []}})
    eventually(lambda: object_of(place, *gateway)["spec"]["gatewayClassName"] == "pretend" and object_of(place, *route)["spec"]["rules"])
    patch(place, *road, {"spec": {"suspend": True}})
    eventually(lambda: not object_of(place, *gateway) and not object_of(place, *route), 30.0)
    place.plane.request("DELETE", place.path(*road))


def live_as_a_job(place: Place) -> None:
    """Suspended, resumed, given up at its deadline, and gone by itself. No Ray is there to submit to: its submitter is made by hand."""
    policy = {"policy": "DeleteSelf"}
    spec = {
        "entrypoint": "true",
        "rayClusterSpec": cluster("unused", workers=0)["spec"],
        "activeDeadlineSeconds": 15,
        "shutdownAfterJobFinishes": True,
        "deletionStrategy": {"onSuccess": policy, "onFailure": policy},
    }
    train = ("ray.io/v1/rayjobs", "train")
    place.create(train[0], {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}, "spec": spec})
    eventually(lambda: said_of(place, *train) == "Initializing", 30.0)
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": "train",
        "uid": object_of(place, *train)["metadata"]["uid"],
        "controller": True,
    }
    meta = {"name": "train", "labels": {labels.ORIGINATED_FROM_KIND: "RayJob"}, "ownerReferences": [owner]}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "other", "image": "other"}]}}
    place.create("batch/v1/jobs", {"metadata": meta, "spec": {"template": template, "suspend": True}})
    patch(place, *train, {"spec": {"suspend": True}})
    eventually(lambda: said_of(place, *train) == "Suspended", 30.0)
    patch(place, *train, {"spec": {"suspend": False}})
    eventually(lambda: not object_of(place, *train), 90.0)


def live_by_the_clock(place: Place) -> None:
    """One job, which is suspended and so makes nothing; and one whose name is taken."""
    of = cluster("unused", workers=0)["spec"]
    template = {"entrypoint": "true", "suspend": True, "shutdownAfterJobFinishes": True, "rayClusterSpec": of}
    spec = {"schedule": "@every 2s", "jobTemplate": template}
    often, minute = ("ray.io/v1/raycronjobs", "often"), int(time.time()) // 60
    for name in (names.cron_job_name("taken", at * 60) for at in (minute, minute + 1)):
        place.create("ray.io/v1/rayjobs", {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": template})
    for name in ("taken", "often"):
        place.create(often[0], {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": name}, "spec": spec})
    eventually(lambda: any("taken" in text for text in place.events("NameConflict")), 30.0)
    eventually(lambda: object_of(place, *often).get("status", {}).get("lastScheduleTime"), 30.0)
    eventually(lambda: object_of(place, *often)["status"].get("observedGeneration") == 1, 30.0)
    place.plane.request("DELETE", place.path(*often))


def said_of(place: Place, resource: str, name: str) -> str:
    return str(object_of(place, resource, name).get("status", {}).get("jobDeploymentStatus", ""))


def is_ready(pod: dict[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


def with_store(name: str, **options: Any) -> dict[str, Any]:
    made = cluster(name, workers=0)
    made["metadata"]["annotations"] = {labels.DELETION_TIMEOUT: "20"}
    made["spec"]["gcsFaultToleranceOptions"] = options
    return made


def head_service_exists(place: Place, name: str) -> bool:
    return bool(object_of(place, "services", names.head_service_name(name)))


async def tell_the_same_again(operators: Operators, place: Place) -> None:
    """An event's repeats are written after five minutes only; its teller is given a clock that is moved on."""
    clock = ManualClock()
    about = ObjectMeta(name="demo", namespace=place.name, uid=place.cluster()["metadata"]["uid"])
    async with Client(load_kubeconfig(operators.kubeconfig)) as client:
        recorder = Recorder(Gate(client), instance="test", clock=clock)
        running = asyncio.create_task(recorder.run())
        for _ in range(2):
            recorder.record(RAYCLUSTERS, about, Event("Normal", "Again", "the same", "Tell"))
            await recorder.flushed()
        await clock.advance(WINDOW)
        await recorder.flushed()
        running.cancel()
    told = [event for event in place.list("events.k8s.io/v1/events") if event["reason"] == "Again"]
    assert [event["series"]["count"] for event in told] == [2]


def test_a_verb_that_is_missing_is_named_and_the_rest_goes_on(operators: Operators, place: Place) -> None:
    """Without `create services` the cluster has no head Service; its Pods come all the same, and the status says what is missing."""
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "less", "--namespace", place.name)
    rules = [right.rule for right in WORK]
    next(rule for rule in rules if rule["resources"] == ["services"])["verbs"].remove("create")
    grant(place, "less", rules)
    kubeconfig = plane.service_account(place.name, "less")
    operator = operators.start("--watch-namespace", place.name, "--no-leader-election", kubeconfig=kubeconfig)
    place.make_cluster(workers=1)
    eventually(lambda: len(place.pods()) == 2, 30.0)
    missing = f'User "system:serviceaccount:{place.name}:less" cannot create resource "services"'
    eventually(lambda: missing in place.condition("ReplicaFailure").get("message", ""), 30.0)
    assert any(missing in text for text in operator.said("warning"))
    assert len([request for request in operators.asked() if request.code == 403]) <= 4, "it is not asked again and again"
    next(rule for rule in rules if rule["resources"] == ["services"])["verbs"].append("create")
    grant(place, "less", rules)
    place.await_ready(workers=1, within=60.0)


def test_a_list_that_is_forbidden_is_named_by_the_probe_and_taken_up_once_it_is_allowed(operators: Operators, place: Place) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "blind", "--namespace", place.name)
    rules = [right.rule for right in WORK]
    grant(place, "blind", [rule for rule in rules if rule["resources"] != ["services"]])
    kubeconfig = plane.service_account(place.name, "blind")
    operator = operators.start("--watch-namespace", place.name, "--no-leader-election", kubeconfig=kubeconfig, wait=False)
    eventually(lambda: operator.answer("/readyz") == "not listed yet: services\n", 30.0)
    told = 'cannot list resource "services" in API group "" in the namespace'
    eventually(lambda: any(told in text for text in operator.said()), 30.0)
    grant(place, "blind", rules)
    eventually(lambda: operator.is_ready, 60.0)


def test_without_the_rights_for_what_few_need_other_clusters_go_on(operators: Operators, place: Place) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "plain", "--namespace", place.name)
    grant(place, "plain", [right.rule for right in CLUSTERS])
    kubeconfig = plane.service_account(place.name, "plain")
    operator = operators.start("--watch-namespace", place.name, "--no-leader-election", kubeconfig=kubeconfig)
    place.make_cluster("plain", workers=1)
    place.await_ready(workers=1, name="plain")
    for right in (*AUTOSCALING, *CLEANUP, *INGRESS, *TOKENS):
        assert any(f'cannot list resource "{right.resource}"' in text for text in operator.said("warning")), right
    place.create("ray.io/v1/rayclusters", whole("demo"))
    missing = 'cannot create resource "ingresses"'
    eventually(lambda: missing in place.condition("ReplicaFailure").get("message", ""), 30.0)
    tokens = cluster("tokens", workers=0)
    tokens["spec"]["authOptions"] = {"mode": "token"}
    place.create("ray.io/v1/rayclusters", tokens)
    eventually(lambda: any('cannot create resource "secrets"' in text for text in place.events("FailedToCreateSecret")), 30.0)


def test_what_the_autoscaler_may_do_can_only_be_granted_by_who_may_do_it(operators: Operators, place: Place) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "modest", "--namespace", place.name)
    grant(place, "modest", [right.rule for right in WORK if right not in HANDED_ON])
    kubeconfig = plane.service_account(place.name, "modest")
    operators.start("--watch-namespace", place.name, "--no-leader-election", kubeconfig=kubeconfig)
    place.create("ray.io/v1/rayclusters", whole("demo"))
    eventually(lambda: any("attempting to grant RBAC permissions" in text for text in place.events("FailedToCreateRole")), 30.0)
    (told,) = {text.partition("not currently held:")[2] for text in place.events("FailedToCreateRole")}
    for right in HANDED_ON:
        assert f'Resources:["{right.resource}"], Verbs:{json.dumps(right.verbs)}' in told


def test_without_the_right_to_set_finalizers_no_child_may_name_its_owner(operators: Operators, place: Place) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "unbound", "--namespace", place.name)
    grant(place, "unbound", [right.rule for right in WORK if right.resource != "rayclusters/finalizers"])
    kubeconfig = plane.service_account(place.name, "unbound")
    operators.start("--watch-namespace", place.name, "--no-leader-election", kubeconfig=kubeconfig)
    place.make_cluster(workers=0)
    eventually(lambda: "cannot set blockOwnerDeletion" in place.condition("ReplicaFailure").get("message", ""), 30.0)


def test_without_the_right_to_delete_secrets_none_may_be_given_an_owner(operators: Operators, place: Place, certified: None) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "keeper", "--namespace", place.name)
    rules = [right.rule for right in (*WORK, *GATED)]
    for rule in rules:
        rule["verbs"] = [verb for verb in rule["verbs"] if rule["resources"] != ["secrets"] or verb != "delete"]
    grant(place, "keeper", rules)
    kubeconfig = plane.service_account(place.name, "keeper")
    words = ("--watch-namespace", place.name, "--no-leader-election", "--feature-gates", "RayClusterMTLS=true")
    operators.start(*words, kubeconfig=kubeconfig)
    secured = cluster("demo", workers=0)
    secured["spec"]["tlsOptions"] = {"enabled": True}
    place.create("ray.io/v1/rayclusters", secured)
    eventually(
        lambda: any("cannot set an ownerRef on a resource you can't delete" in text for text in place.events("FailedToUpdateSecret"))
    )
    place.await_ready(workers=0)


def test_without_the_right_to_delete_claims_none_can_be_kept(operators: Operators, place: Place) -> None:
    plane = place.plane
    plane.kubectl("create", "serviceaccount", "sparing", "--namespace", place.name)
    rules = [right.rule for right in (*WORK, *GATED)]
    next(rule for rule in rules if rule["resources"] == ["persistentvolumeclaims"])["verbs"].remove("delete")
    grant(place, "sparing", rules)
    kubeconfig = plane.service_account(place.name, "sparing")
    operators.start("--watch-namespace", place.name, "--no-leader-election", *STORES, kubeconfig=kubeconfig)
    place.create("ray.io/v1/rayclusters", with_store("demo", backend="rocksdb"))
    eventually(lambda: object_of(place, "persistentvolumeclaims", names.claim_name("demo")), 30.0)
    patch(place, "ray.io/v1/rayclusters", "demo", RETAINED)
    told = "cannot set an ownerRef on a resource you can't delete"
    eventually(lambda: told in place.condition("ReplicaFailure").get("message", ""), 30.0)


def grant(place: Place, account: str, rules: list[dict[str, Any]]) -> None:
    """A Role of just these rules, bound to the account."""
    role = {"apiVersion": RBAC, "kind": "Role", "metadata": {"name": account}, "rules": rules}
    code, answer = place.plane.request("PUT", place.path(f"{RBAC}/roles", account), role)
    assert code in (200, 201), answer
    if code == 201:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": place.name}
        place.create(f"{RBAC}/rolebindings", {"metadata": {"name": account}, "roleRef": reference, "subjects": [subject]})


def test_one_namespace_needs_nothing_cluster_wide(operators: Operators, plane: ControlPlane) -> None:
    """As the manifest for one namespace has it: its own ServiceAccount, Role and lease, all in the namespace that is looked after."""
    place = Place(plane, "team-alone").make()
    for each in single_namespace(place.name):
        if each["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            plural = {"ServiceAccount": "serviceaccounts"}.get(each["kind"], f"{each['apiVersion']}/{each['kind'].lower()}s")
            place.create(plural, each)
    kubeconfig = plane.service_account(place.name, NAME)
    operators.start("--watch-namespace", place.name, "--leader-election-namespace", place.name, kubeconfig=kubeconfig)
    place.make_cluster(workers=1)
    place.await_ready(workers=1)
    asked = [request for request in operators.asked() if request.user == f"system:serviceaccount:{place.name}:{NAME}"]
    objects = [request for request in asked if not request.resource.startswith("/")]  # what is served may be asked by everybody
    elsewhere = [request for request in objects if request.namespace != place.name]
    assert [(request.verb, request.resource, request.code) for request in elsewhere] == [("list", "coordination.k8s.io/leases", 403)]
    assert [str(request) for request in asked if request.code in (401, 403) and request not in elsewhere] == []
    assert place.name != SYSTEM_NAMESPACE
    place.remove()
