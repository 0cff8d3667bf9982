"""Volumes that outlive a Pod, and parts of volumes."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.api.meta import PERSISTENTVOLUMECLAIMS, PODS
from rayfleet.kubelet.claims import PERSISTENTVOLUMES, STORAGECLASSES
from tests.kubelet.world import FOR_EVER, World, pod, until

pytestmark = pytest.mark.namespaces

CLAIM = {
    "metadata": {"name": "disk", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
VOLUMES = [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]
MOUNTS = [{"name": "v", "mountPath": "/data"}]


def claiming(script: str, name: str = "a", **spec: Any) -> dict[str, Any]:
    return pod(script, name, **{"volumes": VOLUMES, "volumeMounts": MOUNTS, **spec})


async def finished(world: World, body: dict[str, Any]) -> str:
    name = body["metadata"]["name"]
    await world.apply(body | {"spec": {**body["spec"], "restartPolicy": "Never"}})
    await world.reaches("Succeeded", name)
    return await world.log(name)


async def test_a_claim_is_bound_and_its_content_outlives_pods_and_ends_with_it(world: World) -> None:
    await world.apply(claiming("cat /data/kept", "late"))
    assert 'persistentvolumeclaim "disk" not found' in await until("an event", lambda: world.events("FailedMount"))
    await world.client.delete(PODS, "late", "default", grace=0)
    await world.apply(CLAIM, PERSISTENTVOLUMECLAIMS)
    await finished(world, claiming("echo kept > /data/kept", "first"))
    claim = await world.client.get(PERSISTENTVOLUMECLAIMS, "disk", "default")
    assert claim["status"]["phase"] == "Bound"
    await world.client.delete(PODS, "first", "default", grace=0)
    assert await finished(world, claiming("cat /data/kept", "second")) == "kept\n"
    await world.client.delete(PERSISTENTVOLUMECLAIMS, "disk", "default")
    await world.client.delete(PODS, "second", "default", grace=0)
    await until("the claim's directory is gone", lambda: not any(world.settings.claims.iterdir()))


async def test_what_a_pod_has_of_a_claim_it_keeps_whatever_becomes_of_the_claim(bare_world: World) -> None:
    world = bare_world
    await world.start_kubelet_process()
    claim = await world.apply(CLAIM, PERSISTENTVOLUMECLAIMS)
    kept = world.settings.claims / claim["metadata"]["uid"] / "kept"
    await world.apply(claiming("cat /data/kept; echo kept > /data/kept; exit 1", restartPolicy="OnFailure"))
    await until("it is written", kept.exists)
    await world.client.delete(PERSISTENTVOLUMECLAIMS, "disk", "default")
    other = await world.apply(CLAIM, PERSISTENTVOLUMECLAIMS)  # of the same name
    await finished(world, claiming("true", "b"))
    await world.client.delete(PODS, "b", "default", grace=0)
    await world.client.delete(PERSISTENTVOLUMECLAIMS, "disk", "default")
    await until("the other claim's directory is gone", lambda: not (world.settings.claims / other["metadata"]["uid"]).exists())
    assert world.process
    world.process.kill()
    await world.process.wait()
    await world.start_kubelet_process()
    restarts = (await world.container())["restartCount"]

    async def restarted() -> bool:
        return bool((await world.container())["restartCount"] > restarts and await world.log_has("kept"))

    await until("it has started again and reads what it wrote", restarted)
    await world.client.delete(PODS, "a", "default", grace=0)
    await until("the claim's directory is gone", lambda: not any(world.settings.claims.iterdir()))


async def test_what_is_to_be_retained_outlives_its_claim(world: World) -> None:
    await world.client.create(STORAGECLASSES, {"metadata": {"name": "keeps"}, "provisioner": "any", "reclaimPolicy": "Retain"})
    spec = {**CLAIM["spec"], "storageClassName": "keeps"}
    claim = await world.apply({**CLAIM, "spec": spec}, PERSISTENTVOLUMECLAIMS)
    await finished(world, claiming("echo kept > /data/kept", "first"))
    await world.client.delete(PERSISTENTVOLUMECLAIMS, "disk", "default")
    await world.client.delete(PODS, "first", "default", grace=0)
    uid = claim["metadata"]["uid"]

    async def released() -> bool:
        return bool((await world.client.get(PERSISTENTVOLUMES, f"pvc-{uid}"))["status"]["phase"] == "Released")

    await until("the volume is released", released)
    assert (world.settings.claims / uid / "kept").read_text() == "kept\n"


async def test_a_part_of_a_volume_is_mounted_by_name_or_by_the_pods_own(world: World) -> None:
    mounts = [
        {"name": "v", "mountPath": "/all"},
        {"name": "v", "mountPath": "/part", "subPath": "deep/part"},
        {"name": "v", "mountPath": "/own", "subPathExpr": "of-$(ME)"},
    ]
    me = [{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    script = "echo a > /part/f; echo b > /own/f; cat /all/deep/part/f /all/of-a/f"
    body = pod(script, volumes=[{"name": "v", "emptyDir": {}}], volumeMounts=mounts, env=me)
    assert await finished(world, body) == "a\nb\n"


async def test_a_link_in_a_volume_leads_nowhere_else(world: World) -> None:
    link = {"name": "link", "image": "i", "command": ["ln", "-s", "/etc", "/v/out"]}
    link["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]  # type: ignore[assignment]
    body = pod(FOR_EVER, volumes=[{"name": "v", "emptyDir": {}}], volumeMounts=[{"name": "v", "mountPath": "/w", "subPath": "out"}])
    await world.apply(body | {"spec": {**body["spec"], "initContainers": [link]}})
    assert 'Error: subPath "out" must stay inside its volume' in await until("an event", lambda: world.events("Failed"))
