"""Owners and their dependents; namespaces and their contents."""

from __future__ import annotations

from tests.apiserver.manifests import CONFIGMAPS, PODS, configmap, owner, pod
from tests.apiserver.peer import Peer, until


async def gone(peer: Peer, path: str) -> None:
    async def missing() -> bool:
        return (await peer.get(path)).status == 404

    await until(missing)


async def test_dependents_follow_their_owner(peer: Peer) -> None:
    parent = (await peer.create(CONFIGMAPS, configmap("parent"))).body
    child = (await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))).body
    await peer.create(CONFIGMAPS, configmap("grandchild", ownerReferences=[owner(child)]))
    await peer.delete(f"{CONFIGMAPS}/parent")
    await gone(peer, f"{CONFIGMAPS}/grandchild")
    await gone(peer, f"{CONFIGMAPS}/child")


async def test_an_object_of_an_owner_that_never_was_is_garbage(peer: Peer) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(ghost)]))
    await gone(peer, f"{CONFIGMAPS}/child")


async def test_an_owner_in_another_namespace_is_none(peer: Peer) -> None:
    parent = (await peer.create(CONFIGMAPS, configmap("parent"))).body
    await peer.create("/api/v1/namespaces/kube-system/configmaps", configmap("child", ownerReferences=[owner(parent)]))
    await gone(peer, "/api/v1/namespaces/kube-system/configmaps/child")


async def test_a_child_let_go_of_stays(peer: Peer) -> None:
    parent = (await peer.create(CONFIGMAPS, configmap("parent"))).body
    await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))
    await peer.patch(f"{CONFIGMAPS}/child", {"metadata": {"ownerReferences": None}})
    dying = await peer.delete(f"{CONFIGMAPS}/parent", {"propagationPolicy": "Foreground"})
    assert dying.status == 200
    await gone(peer, f"{CONFIGMAPS}/parent")
    assert (await peer.get(f"{CONFIGMAPS}/child")).status == 200


async def test_one_living_owner_is_enough(peer: Peer) -> None:
    first = (await peer.create(CONFIGMAPS, configmap("first"))).body
    second = (await peer.create(CONFIGMAPS, configmap("second"))).body
    await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(first), owner(second)]))
    await peer.delete(f"{CONFIGMAPS}/first")

    async def one_left() -> bool:
        return len((await peer.get(f"{CONFIGMAPS}/child")).meta["ownerReferences"]) == 1

    await until(one_left)
    assert (await peer.get(f"{CONFIGMAPS}/child")).meta["ownerReferences"][0]["name"] == "second"


async def test_orphans_stay_without_their_owner(peer: Peer) -> None:
    parent = (await peer.create(CONFIGMAPS, configmap("parent"))).body
    await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))
    await peer.delete(f"{CONFIGMAPS}/parent", {"propagationPolicy": "Orphan"})
    await gone(peer, f"{CONFIGMAPS}/parent")
    assert "ownerReferences" not in (await peer.get(f"{CONFIGMAPS}/child")).meta


async def test_a_foreground_deletion_waits_for_the_dependents(peer: Peer) -> None:
    parent = (await peer.create(CONFIGMAPS, configmap("parent"))).body
    reference = owner(parent, blockOwnerDeletion=True, controller=True)
    await peer.create(CONFIGMAPS, configmap("child", ownerReferences=[reference], finalizers=["example.com/wait"]))
    dying = await peer.delete(f"{CONFIGMAPS}/parent", {"propagationPolicy": "Foreground"})
    assert dying.meta["finalizers"] == ["foregroundDeletion"]

    async def child_dies() -> bool:
        return "deletionTimestamp" in (await peer.get(f"{CONFIGMAPS}/child")).meta

    await until(child_dies)
    assert (await peer.get(f"{CONFIGMAPS}/parent")).status == 200
    await peer.patch(f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}})
    await gone(peer, f"{CONFIGMAPS}/parent")
    await gone(peer, f"{CONFIGMAPS}/child")


async def test_a_namespace_goes_with_everything_in_it(peer: Peer) -> None:
    await peer.create("/api/v1/namespaces", {"metadata": {"name": "mars"}})
    await peer.create("/api/v1/namespaces/mars/pods", pod())
    await peer.create("/api/v1/namespaces/mars/pods/a/binding", {"target": {"name": "n"}})
    await peer.create("/api/v1/namespaces/mars/configmaps", configmap())
    dying = await peer.delete("/api/v1/namespaces/mars")
    assert dying.body["status"]["phase"] == "Terminating"
    await gone(peer, "/api/v1/namespaces/mars/configmaps/a")
    refused = await peer.create("/api/v1/namespaces/mars/configmaps", configmap("late"))
    assert refused.status == 403
    assert refused.body["message"].endswith("unable to create new content in namespace mars because it is being terminated")
    await peer.delete("/api/v1/namespaces/mars/pods/a", {"gracePeriodSeconds": 0})
    await gone(peer, "/api/v1/namespaces/mars")


async def test_a_kubelet_ends_a_pod_that_waits_in_the_foreground(peer: Peer) -> None:
    await peer.create(PODS, pod())
    await peer.create(f"{PODS}/a/binding", {"target": {"name": "n"}})
    await peer.delete(f"{PODS}/a", {"propagationPolicy": "Foreground"})
    await peer.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    await gone(peer, f"{PODS}/a")
