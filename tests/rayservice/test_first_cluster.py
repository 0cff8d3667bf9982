"""From nothing to a service that serves."""

from __future__ import annotations

import pytest

from rayfleet.api import labels
from rayfleet.planning.backoff import Backoff
from rayfleet.ray.answer import Refused, Unreachable
from rayfleet.ray.serve import Proxy
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import NOW


def test_the_finalizer_comes_first_and_then_one_cluster_with_what_marks_it() -> None:
    story = Story(annotations={"team": "a", "rayfleet.dev/paused": "false", "kubectl.kubernetes.io/last-applied-configuration": "{}"})
    story.look()
    assert story.names == []
    story.settle()
    (name,) = story.names
    meta = story.clusters[name]["metadata"]
    assert name.startswith("shop-") and len(name) == len("shop-") + 5
    assert meta["labels"] == {labels.ORIGINATED_FROM_NAME: "shop", labels.ORIGINATED_FROM_KIND: "RayService"}
    assert meta["annotations"].keys() == {"team", labels.CLUSTER_HASH, labels.WORKER_GROUPS, labels.KUBERAY_VERSION, labels.SERVE_CONFIG}
    assert story.services == {} and story.condition("Ready") == ("False", "Initializing")
    assert story.status["pendingServiceStatus"]["rayClusterName"] == name


def test_two_applications_come_up_with_one_put_and_three_status_writes() -> None:
    story = Story()
    story.settle()
    (name,) = story.names
    story.serve(name)
    assert len(story.puts) == 1 and story.puts[0][0] == name
    assert [each["name"] for each in story.puts[0][1]["applications"]] == ["fruit", "sums"]
    assert story.condition("Ready") == ("True", "NonZeroServeEndpoints")
    assert story.condition("UpgradeInProgress") == ("False", "NoPendingCluster")
    assert story.status["activeServiceStatus"]["rayClusterName"] == name and story.status["serviceStatus"] == "Running"
    assert story.status["activeServiceStatus"]["applicationStatuses"]["fruit"]["status"] == "RUNNING"
    assert story.status["numServeEndpoints"] == 2
    assert "pendingServiceStatus" not in story.status
    assert story.statuses <= 6, "each is written at once here; the runtime gathers what is not urgent"
    assert story.services["shop-serve-svc"]["spec"]["selector"] == {labels.CLUSTER: name, labels.SERVE: "true"}
    assert story.services["shop-head-svc"]["spec"]["selector"][labels.CLUSTER] == name


def test_one_slow_application_does_not_hold_back_the_other() -> None:
    """Report B6, 106 (k#1803)."""
    story = Story()
    story.settle()
    (name,) = story.names
    story.start(name)
    story.settle()
    story.proxies(name)
    story.say(name, {"fruit": "DEPLOYING", "sums": "DEPLOYING"})
    story.settle()
    assert story.services == {}, "nothing can answer yet"
    story.say(name, {"fruit": "RUNNING", "sums": "DEPLOYING"})
    story.settle()
    assert story.led_to == name
    assert story.condition("Ready") == ("False", "ApplicationsNotRunning") and story.message() == "application sums is DEPLOYING"


def test_no_service_leads_anywhere_before_a_proxy_answers() -> None:
    """Report B6, 101 (k#1856)."""
    story = Story()
    story.settle()
    (name,) = story.names
    story.start(name)
    story.settle()
    story.say(name, {"fruit": "RUNNING", "sums": "RUNNING"})
    story.settle()
    assert story.services == {}
    assert story.pods[f"{name}-head-0"]["metadata"]["labels"][labels.SERVE] == "false"
    story.proxies(name, workers=False)
    story.settle()
    assert story.pods[f"{name}-head-0"]["metadata"]["labels"][labels.SERVE] == "true"
    assert story.led_to == name and story.status["numServeEndpoints"] == 1


def test_an_application_that_fails_tells_the_last_line_of_its_traceback() -> None:
    story = Story()
    story.settle()
    (name,) = story.names
    story.start(name)
    story.settle()
    trace = "Traceback (most recent call last):\n  File x\nAttributeError: module 'shop.sums' has no attribute 'app'\n" + "\n" * 5
    story.say(name, {"fruit": "RUNNING", "sums": "DEPLOY_FAILED"}, trace)
    story.settle()
    assert story.condition("Ready") == ("False", "Initializing")
    assert story.message() == "application sums is DEPLOY_FAILED: AttributeError: module 'shop.sums' has no attribute 'app'"
    story.say(name, {"fruit": "RUNNING", "sums": "DEPLOY_FAILED"}, "x" * 5000)
    story.settle()
    assert len(story.message()) <= 1024
    assert len(story.status["pendingServiceStatus"]["applicationStatuses"]["sums"]["message"]) <= 1024


def test_a_service_at_rest_is_silent_though_its_cluster_is_not() -> None:
    story, name = serving()
    writes = story.statuses
    story.clusters[name]["status"] = {"readyWorkerReplicas": 1, "state": "ready"}
    story.wait(600.0)
    assert story.settle(1).done and story.statuses == writes
    story.say(name, {"fruit": "RUNNING", "sums": "UNHEALTHY"}, "replica died")
    story.settle()
    assert story.status["activeServiceStatus"]["rayClusterStatus"]["state"] == "ready", "it goes along with a change of our own"
    assert story.condition("Ready") == ("False", "ApplicationsNotRunning") and "replica died" in story.message()
    assert story.status.get("serviceStatus") is None


def test_a_restarted_operator_writes_and_sends_nothing() -> None:
    story, name = serving()
    story.results.clear()
    said = story.says.pop(name)
    assert story.settle(1).done
    story.says[name] = said
    assert story.settle(1).done
    assert len(story.puts) == 1


def test_an_erased_status_is_made_again_and_nothing_else_happens() -> None:
    story, _ = serving()
    assert story.service is not None
    before = story.service.pop("status")
    made = story.look()
    assert not made.actions and not made.calls
    assert story.status["activeServiceStatus"] == before["activeServiceStatus"]
    assert {each["type"]: each["status"] for each in story.status["conditions"]} == {
        each["type"]: each["status"] for each in before["conditions"]
    }


@pytest.mark.parametrize(
    ("answer", "told"),
    [(Refused(500, "boom"), "answers 500: boom"), (Unreachable("refused"), "does not answer")],
)
def test_a_dashboard_that_says_nothing_for_long_makes_the_service_unready(answer: object, told: str) -> None:
    story, name = serving()
    story.answer(name, answer)
    made = story.look()
    assert story.condition("Ready")[0] == "True" and made.requeue_after is not None and made.requeue_after <= 30.0
    story.wait(31.0)
    story.settle()
    assert story.condition("Ready") == ("False", "DashboardUnreachable") and told in story.message()
    assert story.led_to == name and len(story.puts) == 1, "nothing is done about it"


def test_ray_s_refusal_of_the_config_is_told_and_not_repeated_before_its_time() -> None:
    story = Story()
    story.settle()
    (name,) = story.names
    said = "Ray answered 400: applications.0.import_path Field required"
    story.backoffs[f"serve/{name}"] = Backoff(f"serve/{name}", 1, NOW + 50.0, said, "FailedToUpdateServeApplications")
    story.start(name)
    story.settle()
    assert story.puts == [] and said in story.message()
    story.wait(60.0)
    story.look()
    assert len(story.puts) == 1


def test_the_head_s_label_follows_its_proxy_and_stays_false_where_the_head_is_excluded() -> None:
    story, name = serving()
    head = f"{name}-head-0"
    story.say(name, {"fruit": "RUNNING", "sums": "RUNNING"}, proxies={"n": Proxy("UNHEALTHY", "10.0.0.1")})
    del story.health[name]
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "true", "it was not asked itself since it has the label"
    story.proxies(name, head=False)
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "false"
    story.proxies(name)
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "false", "Serve says no other yet"
    story.say(name, {"fruit": "RUNNING", "sums": "RUNNING"}, proxies={"n": Proxy("HEALTHY", "10.0.0.1")})
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "true"
    story.edit(excludeHeadPodFromServeSvc=True)
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "false" and story.status["numServeEndpoints"] == 1


def test_a_head_that_came_back_takes_no_requests_before_an_application_runs_again() -> None:
    story, name = serving()
    head, well = f"{name}-head-0", {"n": Proxy("HEALTHY", "10.0.0.1")}
    story.pods[head]["metadata"]["labels"][labels.SERVE] = "false"
    story.say(name, {"fruit": "DEPLOYING", "sums": "DEPLOYING"}, proxies=well)
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "false" and story.status["numServeEndpoints"] == 1
    story.say(name, {"fruit": "RUNNING", "sums": "DEPLOYING"}, proxies=well)
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "true" and story.status["numServeEndpoints"] == 2
    story.say(name, {"fruit": "DEPLOYING", "sums": "DEPLOYING"}, proxies=well)
    story.settle()
    assert story.pods[head]["metadata"]["labels"][labels.SERVE] == "true", "a config that changes in place takes it no requests"


def test_the_user_s_serve_service_is_followed() -> None:
    story, name = serving(
        serveService={"metadata": {"labels": {"team": "a"}}, "spec": {"type": "NodePort", "ports": [{"name": "http", "port": 80}]}}
    )
    service = story.services["shop-serve-svc"]
    assert service["metadata"]["labels"]["team"] == "a" and service["spec"]["type"] == "NodePort"
    assert [port["name"] for port in service["spec"]["ports"]] == ["http", "serve"]
    story.edit(serveService={"metadata": {"name": "front"}})
    story.settle()
    assert sorted(story.services) == ["front", "shop-head-svc"]
    assert story.services["front"]["spec"]["selector"] == {labels.CLUSTER: name, labels.SERVE: "true"}
    story.services["front"]["spec"]["selector"] = {labels.CLUSTER: "zzz"}
    story.settle()
    assert story.services["front"]["spec"]["selector"] == {labels.CLUSTER: name, labels.SERVE: "true"}, "put right"
    del story.services["front"]
    story.settle()
    assert story.services["front"]["spec"]["selector"][labels.CLUSTER] == name and story.names == [name]


def test_a_wrong_spec_is_told_once_with_all_its_faults_and_recovers() -> None:
    story, name = serving()
    good = story.service["spec"]["serveConfigV2"] if story.service else ""
    story.edit(serveConfigV2="applications:\n- name: a\n- name: a\n  import_path: x:y\n", upgradeStrategy={"type": "Sideways"})
    for _ in range(3):
        story.look()
    assert story.condition("Ready") == ("False", "ValidationFailed")
    for place in ("applications[0].import_path", "applications[1].name", "spec.upgradeStrategy.type"):
        assert place in story.message()
    assert story.events == ["InvalidRayServiceSpec"] and story.names == [name] and story.led_to == name
    story.edit(serveConfigV2=good, upgradeStrategy=None)
    story.settle()
    assert story.condition("Ready") == ("True", "NonZeroServeEndpoints") and len(story.puts) == 1
