"""Old RayClusters: adopted, converted, kept up with, and told about as their status promised (Ray, A.3 and A.4)."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from rayfleet.api.decode import decode_cluster
from rayfleet.api.legacy.object import decode_old
from rayfleet.api.meta import RAYCLUSTERS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import PodView, decode_service
from rayfleet.legacy.observed import Observed
from rayfleet.legacy.plan import plan
from rayfleet.planning.actions import Create, Delete, Fence, Patch, RemoveFinalizer
from rayfleet.planning.plan import Plan
from rayfleet.sim.store import merged
from tests.api.test_legacy import Obj, example, kind, limits, resource

KOPF = "kopf.zalando.org/KopfFinalizerMarker"
HEAD_READY = {"type": "HeadPodReady", "status": "True"}
HEAD_LOST = {"type": "HeadPodReady", "status": "False", "reason": "HeadPodNotFound"}
PROVISIONED = {"type": "RayClusterProvisioned", "status": "True"}


class Story:
    """One old object, and what was made for it; every plan is carried out."""

    def __init__(self, document: Obj) -> None:
        self.old = copy.deepcopy(document)
        self.old["metadata"] |= {"namespace": "lab", "uid": "old-uid", "resourceVersion": "1", "generation": 1}
        self.cluster: Obj | None = None
        self.services: dict[str, Obj] = {}
        self.pods: list[Obj] = []
        self.statuses: list[Obj] = []

    def look(self) -> Plan:
        clusters = (decode_cluster(msgspec.json.encode(self.cluster)),) if self.cluster else ()
        services = tuple(decode_service(msgspec.json.encode(each)) for each in self.services.values())
        pods = tuple(msgspec.convert(each, PodView) for each in self.pods)
        made = plan(Observed(decode_old(msgspec.json.encode(self.old)), 0.0, clusters, services, pods))
        for action in made.actions:
            self.carry(action)
        if made.status is not None:
            self.statuses.append(dict(made.status.patch))
            self.old = merged(self.old, {"status": dict(made.status.patch)})
        return made

    def carry(self, action: Any) -> None:
        if isinstance(action, RemoveFinalizer):
            self.old["metadata"]["finalizers"] = list(action.finalizers)
        elif isinstance(action, Fence):
            self.old = merged(self.old, {"metadata": {"annotations": dict(action.annotations)}})
        elif isinstance(action, Delete):
            self.pods = [each for each in self.pods if each["metadata"]["name"] != action.name]
        elif isinstance(action, Create):
            body = {**action.manifest, "metadata": {**action.manifest["metadata"], "uid": f"uid-{action.name}", "generation": 1}}
            if action.resource == RAYCLUSTERS:
                self.cluster = body
            else:
                self.services[action.name] = body
        elif isinstance(action, Patch) and action.resource == RAYCLUSTERS:
            assert self.cluster is not None
            self.cluster = merged(self.cluster, action.patch)
            self.cluster["metadata"]["generation"] += 1
        else:
            self.services[action.name] = merged(self.services[action.name], action.patch)

    def settle(self) -> Plan:
        for _ in range(10):
            made = self.look()
            if made.done:
                return made
        raise AssertionError("no rest")

    def say(self, *conditions: Obj, state: str = "ready", behind: int = 0) -> str:
        """The cluster's operator says this of it; gives the old object's phase then."""
        assert self.cluster is not None
        generation = self.cluster["metadata"]["generation"] - behind
        self.cluster["status"] = {"state": state, "conditions": list(conditions), "observedGeneration": generation}
        self.settle()
        return self.phase

    def edit(self, change: Any) -> None:
        change(self.old["spec"])
        self.old["metadata"]["generation"] += 1

    @property
    def phase(self) -> str:
        return str(self.old.get("status", {}).get("phase", ""))

    @property
    def retries(self) -> int:
        return int(self.old.get("status", {}).get("autoscalerRetries", 0))

    @property
    def typed(self) -> RayCluster:
        found = decode_cluster(msgspec.json.encode(self.cluster))
        assert isinstance(found, RayCluster)
        return found


def test_an_old_cluster_gets_one_of_today_and_its_service_and_is_silent_then() -> None:
    story = Story(example("resource"))
    story.settle()
    assert KOPF not in story.old["metadata"]["finalizers"] and "kopf" not in str(story.old["metadata"]["annotations"])
    meta = story.typed.metadata
    assert (meta.name, meta.namespace, meta.annotation("cluster.ray.io/converted-from")) == ("old", "lab", "old-uid")
    (owner,) = meta.owner_references or ()
    assert (owner.api_version, owner.uid, owner.controller) == ("cluster.ray.io/v1", "old-uid", True)
    assert list(story.services) == ["old-ray-head"]
    assert story.look().done and story.look().events == ()


def test_running_is_said_when_the_head_is_up_and_updating_while_a_change_is_carried_out() -> None:
    """A.4, 1: Running was said as soon as a process was spawned, and Updating never."""
    story = Story(resource(kind("w", minWorkers=1)))
    story.settle()
    assert story.phase == ""
    assert story.say(state="") == ""
    assert story.say(HEAD_READY, PROVISIONED) == "Running"
    story.edit(lambda spec: spec["podTypes"][0]["podConfig"]["spec"]["containers"][0].update(image="rayproject/ray:2.59.0"))
    assert story.look().status is not None and story.phase == "Updating"
    story.settle()
    assert story.say(HEAD_LOST, PROVISIONED, behind=1) == "Updating"
    assert story.say(HEAD_LOST, PROVISIONED) == "Updating"
    assert story.say(HEAD_READY, PROVISIONED) == "Running"
    assert story.retries == 0


def test_a_lost_head_is_told_and_counted_and_the_end_of_it_too() -> None:
    """A.4, 3: it was stuck there."""
    story = Story(resource())
    story.settle()
    for count in (1, 2):
        assert story.say(HEAD_READY, PROVISIONED) == "Running"
        assert story.say(HEAD_LOST, PROVISIONED) == "AutoscalingExceptionRecovery"
        assert story.retries == count
    assert story.say(HEAD_READY, PROVISIONED) == "Running"


def test_a_deletion_is_not_held_back() -> None:
    """A.4, 2: it hung for ever once nobody took the finalizer away."""
    story = Story(example("resource"))
    story.old["metadata"] |= {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/other", KOPF]}
    made = story.look()
    assert [type(each) for each in made.actions] == [RemoveFinalizer]
    assert story.old["metadata"]["finalizers"] == ["example.com/other"]
    assert story.look() == Plan()


def test_what_an_autoscaler_wrote_survives_a_change_within_its_new_bounds() -> None:
    story = Story(resource(kind("w", maxWorkers=5), kind("v", maxWorkers=5), maxWorkers=5))
    story.settle()
    assert story.cluster is not None
    for group in story.cluster["spec"]["workerGroupSpecs"]:
        group["replicas"] = 4
    assert story.look().done
    story.edit(lambda spec: spec["podTypes"][1].update(maxWorkers=2))
    story.settle()
    sizes = {each.group_name: (each.replicas, each.max_replicas) for each in story.typed.spec.worker_group_specs}
    assert sizes == {"w": (2, 2), "v": (4, 5)}


def test_what_the_old_spec_no_longer_says_goes() -> None:
    story = Story(resource(kind("w", rayResources={"foo": 1})))
    story.settle()
    story.edit(lambda spec: spec["podTypes"].pop())
    story.settle()
    assert story.typed.spec.worker_group_specs == ()
    story.edit(lambda spec: spec["podTypes"][0].update(podConfig=limits(cpu=2, memory="1Gi"), rayResources={"GPU": 1}))
    story.settle()
    assert story.typed.spec.head_group_spec.ray_start_params["num-gpus"] == "1"
    story.edit(lambda spec: spec["podTypes"][0].pop("rayResources"))
    story.settle()
    assert "num-gpus" not in story.typed.spec.head_group_spec.ray_start_params


def test_the_old_operator_s_own_pods_make_way_first_and_nobody_else_s() -> None:
    story = Story(resource())
    story.pods = [{"metadata": {"name": "old-head-x", "namespace": "lab", "uid": "p"}, "spec": {}, "status": {}}]
    first = story.look()
    assert [(type(each), each.name) for each in first.actions] == [(Delete, "old-head-x")]
    story.pods = [{"metadata": {"name": "old-head-x", "uid": "p", "deletionTimestamp": "2030-01-01T00:00:00Z"}, "spec": {}, "status": {}}]
    assert not any(isinstance(each, Create) and each.resource == RAYCLUSTERS for each in story.look().actions)
    story.pods = []
    story.settle()
    assert story.cluster is not None


def test_a_service_of_the_old_operator_is_led_to_the_head_of_today() -> None:
    story = Story(resource())
    port = {"name": "client", "port": 10001, "targetPort": 10001, "protocol": "TCP"}
    spec = {"selector": {"cluster.ray.io/component": "old-ray-head", "x": "y"}, "ports": [port]}
    story.services["old-ray-head"] = {"metadata": {"name": "old-ray-head", "namespace": "lab", "uid": "s"}, "spec": spec}
    story.settle()
    made = story.services["old-ray-head"]["spec"]
    assert made["selector"] == {"cluster.ray.io/component": "old-ray-head"} and len(made["ports"]) == 3


def test_what_cannot_be_converted_is_an_error_told_once_and_mended_by_a_change() -> None:
    story = Story(resource(kind("w", {"spec": {"containers": []}})))
    (event,) = story.look().events
    assert event.reason == "InvalidRayClusterSpec" and "spec.podTypes[1].podConfig.spec.containers: it has none" in event.note
    assert story.phase == "Error" and story.cluster is None
    assert story.look() == Plan()
    story.edit(lambda spec: spec["podTypes"].pop())
    story.settle()
    assert story.cluster is not None and story.phase == ""


def test_what_was_lost_is_told_when_the_cluster_is_made() -> None:
    story = Story(resource(kind("w"), upscalingSpeed=3))
    events = [event for _ in range(3) for event in story.look().events]
    assert [event.reason for event in events] == ["NotConverted"] and "spec.upscalingSpeed" in events[0].note
