"""Create, read, replace and delete, as a Kubernetes client meets them."""

from __future__ import annotations

from tests.apiserver.manifests import CONFIGMAPS, PODS, configmap, pod
from tests.apiserver.peer import Peer, until


async def test_a_created_object_comes_back_with_what_the_server_adds(peer: Peer) -> None:
    created = await peer.create(PODS, pod())
    assert created.status == 201
    assert created.meta["uid"]
    assert created.meta["creationTimestamp"].endswith("Z")
    assert created.meta["generation"] == 1
    assert created.body["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert (await peer.get(f"{PODS}/a")).body == created.body


async def test_a_second_object_of_the_same_name_is_refused(peer: Peer) -> None:
    await peer.create(PODS, pod())
    again = await peer.create(PODS, pod())
    assert (again.status, again.body["reason"], again.body["message"]) == (409, "AlreadyExists", 'pods "a" already exists')
    assert again.body["details"] == {"name": "a", "kind": "pods"}


async def test_what_is_not_there_is_not_found(peer: Peer) -> None:
    missing = await peer.get(f"{PODS}/nobody")
    assert (missing.status, missing.body["reason"], missing.body["message"]) == (404, "NotFound", 'pods "nobody" not found')
    assert (await peer.get("/apis/nowhere.example/v1/things")).status == 404


async def test_a_namespace_must_exist_before_its_objects(peer: Peer) -> None:
    refused = await peer.create("/api/v1/namespaces/mars/pods", pod())
    assert (refused.status, refused.body["message"]) == (404, 'namespaces "mars" not found')
    await peer.create("/api/v1/namespaces", {"metadata": {"name": "mars"}})
    assert (await peer.create("/api/v1/namespaces/mars/pods", pod())).status == 201


async def test_generated_names_are_made_from_their_prefix(peer: Peer) -> None:
    first, second = [(await peer.create(CONFIGMAPS, {"metadata": {"generateName": "x-"}})).meta["name"] for _ in range(2)]
    assert first.startswith("x-")
    assert len(first) == 7
    assert first != second


async def test_replacing_an_old_version_conflicts_in_the_words_of_kubernetes(peer: Peer) -> None:
    first = (await peer.create(CONFIGMAPS, configmap())).body
    second = await peer.put(f"{CONFIGMAPS}/a", {**first, "data": {"k": "w"}})
    assert second.status == 200
    late = await peer.put(f"{CONFIGMAPS}/a", {**first, "data": {"k": "x"}})
    assert (late.status, late.body["reason"]) == (409, "Conflict")
    assert late.body["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


async def test_a_write_that_changes_nothing_keeps_the_version(peer: Peer) -> None:
    first = (await peer.create(CONFIGMAPS, configmap())).body
    assert (await peer.put(f"{CONFIGMAPS}/a", first)).body == first
    assert (await peer.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})).body == first


async def test_names_and_labels_are_checked(peer: Peer) -> None:
    wrong = await peer.create(PODS, pod("Not_A_Name", labels={"bad key": "x"}))
    assert (wrong.status, wrong.body["reason"]) == (422, "Invalid")
    assert {cause["field"] for cause in wrong.body["details"]["causes"]} == {"metadata.name", "metadata.labels"}


async def test_a_dry_run_leaves_no_trace(peer: Peer) -> None:
    shown = await peer.create(f"{PODS}?dryRun=All", pod())
    assert shown.status == 201
    assert (await peer.get(f"{PODS}/a")).status == 404
    await peer.create(PODS, pod())
    assert (await peer.delete(f"{PODS}/a?dryRun=All")).status == 200
    assert (await peer.get(f"{PODS}/a")).status == 200


async def test_nonsense_is_answered_politely(peer: Peer) -> None:
    assert (await peer.ask("POST", PODS, b"{")).status == 400
    assert (await peer.ask("POST", PODS, b"[]")).status == 400
    assert (await peer.create(PODS, {"metadata": {"name": "a", "labels": {"x": 1}}})).status == 400
    assert (await peer.create(PODS, {**pod(), "kind": "Service"})).status == 400
    assert (await peer.ask("PATCH", f"{PODS}/a", b"{}", "text/plain")).status == 415
    assert (await peer.ask("TRACE", PODS)).status == 405
    assert (await peer.ask("POST", CONFIGMAPS, b'{"data":{"k":"' + b"x" * 3_200_000 + b'"}}')).status == 413


async def test_a_scheduled_pod_goes_when_its_kubelet_says_so(peer: Peer) -> None:
    await peer.create(PODS, pod())
    bound = await peer.create(f"{PODS}/a/binding", {"target": {"kind": "Node", "name": "n1"}})
    assert bound.status == 201
    assert (await peer.create(f"{PODS}/a/binding", {"target": {"kind": "Node", "name": "n2"}})).status == 409
    dying = await peer.delete(f"{PODS}/a")
    assert dying.meta["deletionGracePeriodSeconds"] == 30
    assert (await peer.delete(f"{PODS}/a", {"gracePeriodSeconds": 60})).body == dying.body, "a death is never put off"
    sooner = await peer.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})
    assert sooner.meta["deletionGracePeriodSeconds"] == 5
    assert (await peer.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})).status == 200
    assert (await peer.get(f"{PODS}/a")).status == 404


async def test_an_unscheduled_pod_goes_at_once(peer: Peer) -> None:
    await peer.create(PODS, pod())
    gone = await peer.delete(f"{PODS}/a")
    assert (gone.body["kind"], gone.meta["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert (await peer.get(f"{PODS}/a")).status == 404


async def test_preconditions_protect_from_deleting_another_object(peer: Peer) -> None:
    created = await peer.create(PODS, pod())
    refused = await peer.delete(f"{PODS}/a", {"preconditions": {"uid": "other"}})
    assert refused.status == 409
    assert f"the UID in the precondition (other) does not match the UID in record ({created.meta['uid']})" in refused.body["message"]
    assert (await peer.delete(f"{PODS}/a", {"preconditions": {"resourceVersion": "1"}})).status == 409
    fitting = {"uid": created.meta["uid"], "resourceVersion": created.meta["resourceVersion"]}
    assert (await peer.delete(f"{PODS}/a", {"preconditions": fitting})).status == 200


async def test_finalizers_hold_a_deleted_object(peer: Peer) -> None:
    await peer.create(CONFIGMAPS, configmap(finalizers=["example.com/wait"]))
    assert (await peer.delete(f"{CONFIGMAPS}/a")).meta["deletionTimestamp"]
    refused = await peer.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}})
    assert refused.status == 422
    assert (await peer.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})).status == 200
    assert (await peer.get(f"{CONFIGMAPS}/a")).status == 404


async def test_a_collection_is_deleted_by_selector(peer: Peer) -> None:
    for name, team in (("a", "red"), ("b", "blue"), ("c", "red")):
        await peer.create(CONFIGMAPS, configmap(name, labels={"team": team}))
    assert (await peer.delete(f"{CONFIGMAPS}?labelSelector=team%3Dred")).status == 200
    names = [item["metadata"]["name"] for item in (await peer.get(CONFIGMAPS)).body["items"]]
    assert names == ["b"]


async def test_both_event_apis_show_the_same_events(peer: Peer) -> None:
    body = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "a", "namespace": "default", "uid": "u"},
        "note": "said",
        "reason": "Why",
        "action": "Do",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x",
        "reportingInstance": "y",
    }
    assert (await peer.create("/apis/events.k8s.io/v1/namespaces/default/events", body)).body["note"] == "said"
    core = (await peer.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da,reason%3DWhy")).body["items"]
    assert [event["message"] for event in core] == ["said"]
    changed = await peer.patch(
        "/apis/events.k8s.io/v1/namespaces/default/events/e", {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    )
    assert changed.body["regarding"]["name"] == "a"
    assert (await peer.get("/api/v1/namespaces/default/events/e")).body["series"]["count"] == 2


async def test_a_full_quota_refuses_pods_in_the_words_of_kubernetes(peer: Peer) -> None:
    await peer.create("/api/v1/namespaces/default/resourcequotas", {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})
    assert (await peer.create(PODS, pod("one"))).status == 201
    refused = await peer.create(PODS, pod("two"))
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert refused.body["message"] == 'pods "two" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1'


async def test_health_is_open(peer: Peer) -> None:
    async def healthy() -> bool:
        return (await peer.get("/readyz")).status == 200

    assert await until(healthy)
