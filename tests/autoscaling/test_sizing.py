"""From an observation to what is written and said about a cluster's size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.autoscaling.amounts import resources
from rayfleet.autoscaling.cluster import groups_of, instances_of, policy_of
from rayfleet.autoscaling.observed import Observed, Obstacle, Settled
from rayfleet.autoscaling.obstacles import PATIENCE, before_asking, concerns_us, in_the_answer, unknown_options, without_head_since
from rayfleet.autoscaling.sizing import plan
from rayfleet.autoscaling.values import HEAD, Cause, Decision, Drain, Infeasible, Policy, Sentence, State, Target
from rayfleet.autoscaling.word import Node, Word
from rayfleet.planning.actions import Resize
from rayfleet.planning.backoff import Backoff
from rayfleet.ray.answer import Refused, Unreachable
from rayfleet.ray.gcs import Head
from rayfleet.sim.gcs import ScriptedGcs
from tests.raycluster.vocabulary import NOW, cluster, group, head, template, worker, worker_name

HOSTED = {labels.AUTOSCALING: "hosted"}
WORKING = {"type": "Autoscaling", "status": "True", "reason": "Working", "message": "", "lastTransitionTime": "2027-01-15T07:00:00Z"}
UP = Sentence("ScaledUp", "2 x {CPU: 4} pending for 10 s: small 1 -> 3")


def autoscaled(*groups: dict[str, Any], **more: Any) -> Any:
    return cluster(*groups or (group(replicas=1),), annotations=HOSTED, enableInTreeAutoscaling=True, **more)


def observed(of: Any, decision: Decision | None = None, **more: Any) -> Observed:
    return Observed(of, NOW, Head(of.metadata.key, "10.0.0.1"), decision=decision, **more)


def test_a_decision_is_one_patch_of_the_groups_by_their_place_in_that_very_version() -> None:
    of = autoscaled(group("big", replicas=2), group("small", replicas=1))
    going = worker_name(0, group="big")
    decision = Decision((Target("small", 3, 1), Target("big", 1, 2, (going,))), sentences=(UP,))
    (resize,) = plan(observed(of, decision)).actions
    assert isinstance(resize, Resize)
    assert resize.resource_version == "7"
    assert list(resize.operations) == [
        {"op": "add", "path": "/spec/workerGroupSpecs/1/replicas", "value": 3},
        {"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": 1},
        {"op": "add", "path": "/spec/workerGroupSpecs/0/scaleStrategy", "value": {"workersToDelete": [going]}},
    ]
    assert resize.events == (("ScaledUp", UP.text),)


def test_a_decision_that_changes_nothing_writes_nothing() -> None:
    of = autoscaled(status={"conditions": [WORKING]})
    found = plan(observed(of, Decision((Target("small", 1, 1),))))
    assert (found.actions, found.status) == ((), None)


def test_a_write_that_was_refused_waits_and_is_not_told_as_done() -> None:
    decision = Decision((Target("small", 3, 1),), sentences=(UP,))
    refused = {"replicas": Backoff("replicas", 1, NOW + 5, "denied by a webhook", "FailedToResize")}
    found = plan(observed(autoscaled(status={"conditions": [WORKING]}), decision, backoffs=refused))
    assert (found.actions, found.events, found.requeue_after) == ((), (), 5)


def test_what_is_remembered_goes_with_what_is_asked_of_ray() -> None:
    drain = Drain("ab", worker_name(0), "small", Cause.IDLE, "idle for 60 s", NOW)
    found = plan(observed(autoscaled(), Decision((Target("small", 1, 1),), drains=(drain,), again_at=NOW + 7)))
    assert [type(call.message) for call in found.calls] == [Settled, Drain]
    assert found.requeue_after == 7


def test_infeasible_demand_is_told_once_with_what_would_satisfy_it() -> None:
    infeasible = Infeasible("{GPU: 8} fits no group; one with 8 GPU would do")
    decision = Decision((Target("small", 1, 1),), infeasible=(infeasible,))
    first = plan(observed(autoscaled(), decision))
    assert [event.reason for event in first.events] == ["DemandInfeasible"]
    assert first.status is not None
    (said,) = (each for each in first.status.patch["conditions"] if each["type"] == "Autoscaling")
    assert (said["status"], said["message"]) == ("True", infeasible.remedy)
    again = plan(observed(autoscaled(status={"conditions": [said]}), decision))
    assert (again.events, again.status) == ((), None)


def test_other_conditions_stay_as_they_are() -> None:
    ready = {"type": "HeadPodReady", "status": "True", "reason": "HeadPodRunningAndReady", "lastTransitionTime": "2027-01-15T07:00:00Z"}
    found = plan(observed(autoscaled(status={"conditions": [ready]}), Decision()))
    assert found.status is not None
    assert {each["type"]: each["lastTransitionTime"] for each in found.status.patch["conditions"]}["HeadPodReady"] == ready[
        "lastTransitionTime"
    ]


def test_a_passing_obstacle_is_told_only_when_it_lasts() -> None:
    obstacle = Obstacle("HeadUnreachable", "the head's GCS does not answer: timeout", PATIENCE)
    early = plan(observed(autoscaled(), obstacle=obstacle, since=NOW - 5))
    assert (early.status, early.requeue_after) == (None, PATIENCE - 5)
    late = plan(observed(autoscaled(), obstacle=obstacle, since=NOW - PATIENCE))
    assert late.status is not None
    assert late.status.patch["conditions"][0]["reason"] == "HeadUnreachable"


@pytest.mark.parametrize(
    ("of", "heads", "reason"),
    [
        (autoscaled(), [head(containers=[{"name": "ray"}, {"name": "autoscaler"}])], "SidecarPresent"),
        (autoscaled(), [], "HeadNotReady"),
        (autoscaled(), [head(phase="Pending")], "HeadNotReady"),
        (autoscaled(), [head(terminating=True)], "HeadNotReady"),
        (autoscaled(suspend=True), [], "Suspended"),
        (autoscaled(status={"conditions": [{"type": "Valid", "status": "False"}]}), [head()], "InvalidSpec"),
    ],
    ids=str,
)
def test_what_stands_in_the_way(of: Any, heads: list[Any], reason: str) -> None:
    found = before_asking(of, heads)
    assert found is not None
    assert found.reason == reason


def test_how_long_a_cluster_has_had_no_head_is_read_from_its_status() -> None:
    lost = {"type": "HeadPodReady", "status": "False", "lastTransitionTime": "2027-01-15T07:00:00Z"}
    assert without_head_since(autoscaled(status={"conditions": [lost]}), NOW) == NOW - 3600
    assert without_head_since(autoscaled(), NOW) == NOW


def test_nothing_stands_in_the_way_of_a_running_head() -> None:
    assert before_asking(autoscaled(), [head(ready=False)]) is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Unreachable("timeout"), "HeadUnreachable"),
        (Refused(501, "unknown service"), "RayTooOld"),
        (Refused(401, "InvalidAuthToken"), "TokenRefused"),
        (Refused(413, "too long"), "AnswerTooLong"),
        (Refused(500, "WrongClusterID"), "RayRefuses"),
    ],
)
def test_what_a_head_may_say_instead(answer: Any, reason: str) -> None:
    found = in_the_answer(answer, "demo-head")
    assert found is not None
    assert found.reason == reason


def test_a_head_that_does_not_know_itself_is_another_clusters() -> None:
    gcs = ScriptedGcs()
    gcs.node("other-head-bcdfg", HEAD, {})
    says = Word(gcs._GetClusterResourceState(b""), 0.0)
    found = in_the_answer(says, "demo-head")
    assert found is not None
    assert found.reason == "OtherCluster"
    assert in_the_answer(says, "other-head-bcdfg") is None


@pytest.mark.parametrize(
    ("of", "heads", "ours"),
    [
        (autoscaled(), [], True),
        (cluster(group(), enableInTreeAutoscaling=True), [], False),
        (cluster(group(), enableInTreeAutoscaling=True), [head(annotations=HOSTED)], True),
        (cluster(group(), annotations=HOSTED), [head(annotations=HOSTED)], False),
        (autoscaled(managedBy="kueue.x-k8s.io/multikueue"), [], False),
    ],
    ids=["chosen", "sidecar", "sidecar, but its head has none", "not autoscaled", "somebody else's"],
)
def test_whose_it_is_to_size(of: Any, heads: list[Any], ours: bool) -> None:
    assert concerns_us(of, heads, Configuration()) is ours


def test_options_that_only_rays_container_reads_are_named() -> None:
    options = {"image": "x", "env": [{"name": "AUTOSCALER_UPDATE_INTERVAL_S", "value": "1"}], "idleTimeoutSeconds": 5}
    of = autoscaled(autoscalerOptions={**options, "resources": {"limits": {"cpu": "1"}}})
    names = list(unknown_options(of))
    assert names == ["autoscalerOptions.resources", "autoscalerOptions.image", "autoscalerOptions.env[AUTOSCALER_UPDATE_INTERVAL_S]"]
    found = plan(observed(of, Decision(), unknown=tuple(names)))
    assert found.status is not None
    assert "AUTOSCALER_UPDATE_INTERVAL_S" in found.status.patch["conditions"][0]["message"]


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        (None, Policy()),
        ({"idleTimeoutSeconds": 5, "upscalingMode": "Conservative"}, Policy(1.0, 5.0)),
        ({"upscalingMode": "Aggressive"}, Policy()),
        ({"idleTimeoutSeconds": 0}, Policy(None, 0.0)),
    ],
)
def test_options_that_are_honoured(options: Any, policy: Policy) -> None:
    assert policy_of(autoscaled(autoscalerOptions=options) if options else autoscaled()) == policy


def test_a_group_is_what_its_hosts_will_tell_ray() -> None:
    spec = group(
        "tpu",
        replicas=1,
        numOfHosts=2,
        template=template(resources={"limits": {"cpu": "3500m", "memory": "1Gi", "google.com/tpu": "4"}}),
        rayStartParams={"resources": "'{\"slots\": 2}'", "labels": "zone=a"},
    )
    (found,) = groups_of(autoscaled(spec), ())
    assert found.resources == resources({"CPU": 4, "memory": 2**30, "TPU": 4, "slots": 2})
    assert (found.hosts, dict(found.labels)["zone"], dict(found.labels)["ray.io/node-group"]) == (2, "a", "tpu")


def test_what_the_spec_does_not_say_a_node_does() -> None:
    seen = (Node("aa", worker_name(0), State.IDLE, total=resources({"CPU": 7, "memory": 100})),)
    of = autoscaled(group(template=template(resources={})))
    (found,) = groups_of(of, instances_of([worker(0)], seen, NOW))
    assert found.resources == resources({"CPU": 7, "memory": 100})


def test_pods_and_nodes_meet_by_name_and_strangers_are_left_out() -> None:
    idle = Node("aa", worker_name(0), State.IDLE, idle=30.0)
    nodes = (replace(idle, node="00", state=State.DEAD), idle, Node("bb", "stranger", State.IDLE), Node("cc", head().name, State.RUNNING))
    found = instances_of([head(), worker(0), worker(1, phase="Pending", ready=False)], nodes, NOW)
    by_pod = {each.pod: each for each in found}
    assert by_pod[head().name].group == HEAD
    assert (by_pod[worker_name(0)].state, by_pod[worker_name(0)].idle_since) == (State.IDLE, NOW - 30)
    assert by_pod[worker_name(1)].state == State.PENDING
    assert len(found) == 3


def test_of_two_nodes_in_one_pod_the_one_with_more_to_lose_counts() -> None:
    nodes = (Node("aa", worker_name(0), State.IDLE, idle=30.0), Node("bb", worker_name(0), State.RUNNING))
    (found,) = instances_of([worker(0)], nodes, NOW)
    assert (found.state, found.node) == (State.RUNNING, "bb")
