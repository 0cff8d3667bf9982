"""Tables, bare metadata, discovery: the forms in which answers come."""

from __future__ import annotations

from tests.apiserver.manifests import BOATS, DEFINITIONS, PODS, boat, boats, pod
from tests.apiserver.peer import TABLE, Peer, take

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


async def test_metadata_alone_can_be_asked_for(peer: Peer) -> None:
    created = await peer.create(PODS, pod())
    one = (await peer.get(f"{PODS}/a", Accept=METADATA)).body
    assert one == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created.meta}
    many = (await peer.get(PODS, Accept=METADATA_LIST)).body
    assert (many["kind"], many["items"]) == ("PartialObjectMetadataList", [one])


async def test_a_metadata_watch_sends_metadata_alone(peer: Peer) -> None:
    await peer.create(PODS, pod())
    async with peer.session.get(f"{PODS}?watch=1", headers={"Accept": METADATA}) as response:
        line = await response.content.readline()
    assert b'"PartialObjectMetadata"' in line
    assert b'"spec"' not in line


async def test_a_table_can_be_watched(peer: Peer) -> None:
    await peer.create(PODS, pod())
    async with peer.session.get(f"{PODS}?watch=1", headers={"Accept": TABLE}) as response:
        line = await response.content.readline()
    assert b'"kind":"Table"' in line
    assert b'"cells":["a","0/1","Pending"' in line


async def test_pods_show_their_state_in_one_word(peer: Peer) -> None:
    statuses = {
        "waiting": ({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 3}]}, "CrashLoopBackOff"),
        "init": ({"initContainerStatuses": [{"state": {"running": {}}}]}, "Init:0/0"),
        "done": (
            {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]},
            "Completed",
        ),
        "failed": ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
    }
    for name, (status, _) in statuses.items():
        await peer.create(PODS, pod(name))
        await peer.patch(f"{PODS}/{name}/status", {"status": status})
    rows = (await peer.get(PODS, Accept=TABLE)).body["rows"]
    assert {row["cells"][0]: row["cells"][2] for row in rows} == {name: word for name, (_, word) in statuses.items()}


async def test_every_core_kind_has_a_table(peer: Peer) -> None:
    paths = [path for path in (await served_lists(peer)) if "/customresourcedefinitions" not in path]
    assert len(paths) > 20
    for path in paths:
        table = await peer.get(path, Accept=TABLE)
        assert (table.status, table.body["kind"]) == (200, "Table"), path


async def served_lists(peer: Peer) -> list[str]:
    groups = (await peer.get("/apis")).body["groups"]
    bases = ["/api/v1", *(f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"])]
    found = []
    for base in bases:
        resources = (await peer.get(base)).body["resources"]
        found += [f"{base}/{resource['name']}" for resource in resources if "/" not in resource["name"] and "list" in resource["verbs"]]
    return found


async def test_custom_resources_are_discovered_in_both_forms(peer: Peer) -> None:
    await peer.create(DEFINITIONS, boats())
    group = (await peer.get("/apis/sea.example")).body
    assert [version["version"] for version in group["versions"]] == ["v1", "v1alpha1"]
    plain = (await peer.get("/apis/sea.example/v1")).body["resources"]
    assert [(each["name"], each["kind"]) for each in plain] == [("boats", "Boat"), ("boats/status", "Boat")]
    assert plain[0]["shortNames"] == ["bo"]
    aggregated = (await peer.get("/apis", Accept=AGGREGATED)).body
    (found,) = [each for each in aggregated["items"] if each["metadata"]["name"] == "sea.example"]
    assert found["versions"][0]["resources"][0]["responseKind"] == {"group": "sea.example", "version": "v1", "kind": "Boat"}
    assert (await peer.get("/apis/nowhere.example/v1")).status == 404


async def test_openapi_tells_kubectl_that_the_server_judges_unknown_fields(peer: Peer) -> None:
    await peer.create(DEFINITIONS, boats())
    urls = (await peer.get("/openapi/v3")).body["paths"]
    document = (await peer.get(urls["apis/sea.example/v1"]["serverRelativeURL"])).body
    (operation,) = [
        path["patch"] for path in document["paths"].values() if path["patch"]["x-kubernetes-group-version-kind"]["kind"] == "Boat"
    ]
    assert "fieldValidation" in [parameter["name"] for parameter in operation["parameters"]]
    assert (await peer.get("/openapi/v2")).status == 404


async def test_reviews_allow_everything_to_those_who_are_let_in(peer: Peer) -> None:
    review = await peer.create(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "create"}}}
    )
    assert review.body["status"]["allowed"] is True
    token = await peer.create("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "wrong"}})
    assert "authenticated" not in token.body["status"]


async def test_a_list_of_custom_objects_is_in_the_asked_version(peer: Peer) -> None:
    await peer.create(DEFINITIONS, boats())
    await peer.create(BOATS, boat())
    listed = (await peer.get("/apis/sea.example/v1alpha1/boats")).body
    assert (listed["apiVersion"], listed["items"][0]["apiVersion"]) == ("sea.example/v1alpha1", "sea.example/v1alpha1")


async def test_old_events_of_a_watch_are_still_sent_in_order(peer: Peer) -> None:
    version = (await peer.get(PODS)).meta["resourceVersion"]
    for name in ("a", "b", "c"):
        await peer.create(PODS, pod(name))
    events = await take(peer.watch(f"{PODS}?watch=1&resourceVersion={version}"), 3)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(versions)


async def test_the_protobuf_that_kubectl_create_sends_is_understood(peer: Peer) -> None:
    media = "application/vnd.kubernetes.protobuf"
    empty = b'\x12\x00\x1a\x00"\x00*\x002\x008\x00B\x00'
    namespace = b"k8s\x00\n\x0f\n\x02v1\x12\tNamespace\x12\x1b\n\x13\n\x03foo" + empty + b"\x12\x00\x1a\x02\n\x00\x1a\x00"
    created = await peer.ask("POST", "/api/v1/namespaces", namespace, media)
    assert (created.status, created.meta["name"]) == (201, "foo")
    secret = b"k8s\x00\n\x0c\n\x02v1\x12\x06Secret\x12\x1d\n\x11\n\x01s" + empty + b"\x12\x06\n\x01a\x12\x01b\x1a\x00\x1a\x00"
    stored = await peer.ask("POST", "/api/v1/namespaces/foo/secrets", secret, media)
    assert (stored.status, stored.body["data"], stored.body["type"]) == (201, {"a": "Yg=="}, "Opaque")
    assert (await peer.ask("POST", "/api/v1/namespaces", b"k8s\x00\n\xff", media)).status == 400
    assert (await peer.ask("POST", "/api/v1/namespaces/foo/pods", b"k8s\x00\n\t\n\x02v1\x12\x03Pod\x12\x00", media)).status == 422
    odd = b"k8s\x00\n\t\n\x02v1\x12\x03Pid\x12\x00"
    assert (await peer.ask("POST", "/api/v1/namespaces/foo/pods", odd, media)).status == 415
    for broken in (b"k8s\x00\n\t\n\x02v1\x12\x03Pod\x12\x02\x08\x01", b"k8s\x00\n\t\n\x02v1\x12\x03Pod\x12\xff\xff\xff\xff\x0f"):
        assert (await peer.ask("POST", "/api/v1/namespaces/foo/pods", broken, media)).status == 400
