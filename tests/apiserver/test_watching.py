"""Lists in pages and watches from a version."""

from __future__ import annotations

from rayfleet.apiserver.reading import SNAPSHOTS
from tests.apiserver.manifests import CONFIGMAPS, PODS, configmap, pod
from tests.apiserver.peer import Peer, take


async def test_a_watch_continues_where_a_list_ended(peer: Peer) -> None:
    await peer.create(PODS, pod("before"))
    version = (await peer.get(PODS)).meta["resourceVersion"]
    await peer.create(PODS, pod("after"))
    events = peer.watch(f"{PODS}?watch=1&resourceVersion={version}")
    await peer.patch(f"{PODS}/after", {"metadata": {"labels": {"x": "y"}}})
    await peer.delete(f"{PODS}/before")
    seen = [(event["type"], event["object"]["metadata"]["name"]) for event in await take(events, 3)]
    assert seen == [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "before")]


async def test_a_watch_sends_what_exists_when_no_version_is_given(peer: Peer) -> None:
    await peer.create(PODS, pod())
    assert [event["type"] for event in await take(peer.watch(f"{PODS}?watch=true"), 1)] == ["ADDED"]


async def test_initial_events_end_with_a_marked_bookmark(peer: Peer) -> None:
    await peer.create(PODS, pod())
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    added, end = await take(peer.watch(f"{PODS}?{query}"), 2)
    assert (added["type"], end["type"]) == ("ADDED", "BOOKMARK")
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_an_object_that_ceases_to_match_leaves_a_selective_watch(peer: Peer) -> None:
    version = (await peer.get(PODS)).meta["resourceVersion"]
    events = peer.watch(f"{PODS}?watch=1&labelSelector=in%3Dyes&resourceVersion={version}")
    await peer.create(PODS, pod("a", labels={"in": "no"}))
    await peer.patch(f"{PODS}/a", {"metadata": {"labels": {"in": "yes"}}})
    last = await peer.patch(f"{PODS}/a", {"metadata": {"labels": {"in": "no"}}})
    added, deleted = await take(events, 2)
    assert (added["type"], deleted["type"]) == ("ADDED", "DELETED")
    assert deleted["object"]["metadata"]["resourceVersion"] == last.meta["resourceVersion"]
    assert deleted["object"]["metadata"]["labels"] == {"in": "yes"}


async def test_a_forgotten_version_is_an_error_in_the_stream(peer: Peer) -> None:
    future = peer.watch(f"{PODS}?watch=1&resourceVersion=999999")
    (event,) = await take(future, 1)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_a_watch_ends_at_its_time(peer: Peer) -> None:
    version = (await peer.get(PODS)).meta["resourceVersion"]
    assert [event async for event in peer.watch(f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion={version}")] == []


async def test_pages_show_the_list_as_it_was_at_the_first(peer: Peer) -> None:
    for name in "abcde":
        await peer.create(CONFIGMAPS, configmap(name))
    first = (await peer.get(f"{CONFIGMAPS}?limit=2")).body
    await peer.delete(f"{CONFIGMAPS}/c")
    await peer.create(CONFIGMAPS, configmap("z"))
    names, page = [item["metadata"]["name"] for item in first["items"]], first
    while token := page["metadata"].get("continue"):
        page = (await peer.get(f"{CONFIGMAPS}?limit=2&continue={token}")).body
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        names += [item["metadata"]["name"] for item in page["items"]]
    assert names == list("abcde")
    assert first["metadata"]["remainingItemCount"] == 3


async def test_a_reader_who_is_too_slow_may_go_on_with_the_list_as_it_is(peer: Peer) -> None:
    for name in "abcd":
        await peer.create(CONFIGMAPS, configmap(name))
    token = (await peer.get(f"{CONFIGMAPS}?limit=2")).meta["continue"]
    for _ in range(SNAPSHOTS):
        await peer.get(f"{CONFIGMAPS}?limit=1")
    await peer.delete(f"{CONFIGMAPS}/c")
    await peer.create(CONFIGMAPS, configmap("aa"))
    gone = await peer.get(f"{CONFIGMAPS}?limit=2&continue={token}")
    assert (gone.status, gone.body["reason"]) == (410, "Expired")
    rest = await peer.get(f"{CONFIGMAPS}?limit=2&continue={gone.meta['continue']}")
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["d"]
    assert (await peer.get(f"{CONFIGMAPS}?limit=1&continue=nonsense")).status == 400


async def test_selectors_narrow_lists(peer: Peer) -> None:
    for name, labels in (("a", {"t": "1", "u": "x"}), ("b", {"t": "2"}), ("c", {})):
        await peer.create(PODS, pod(name, labels=labels))
    await peer.create(f"{PODS}/b/binding", {"target": {"name": "n"}})
    wanted = {
        "labelSelector=t%3D1": "a",
        "labelSelector=t%21%3D1": "bc",
        "labelSelector=t+in+(1,2),u": "a",
        "labelSelector=t+notin+(1)": "bc",
        "labelSelector=%21t": "c",
        "fieldSelector=metadata.name%3Da": "a",
        "fieldSelector=spec.nodeName%3Dn": "b",
        "fieldSelector=spec.nodeName%21%3Dn,status.phase%3DPending": "ac",
    }
    for query, names in wanted.items():
        answer = await peer.get(f"{PODS}?{query}")
        assert "".join(item["metadata"]["name"] for item in answer.body["items"]) == names, query
    assert (await peer.get(f"{PODS}?fieldSelector=spec.colour%3Dred")).status == 400
    assert (await peer.get(f"{PODS}?labelSelector=%3D%3D")).status == 400
