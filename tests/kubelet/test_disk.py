"""Pods that take more of the disk than they may are evicted, in the words of kubelet 1.37."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.kubelet.disk import Use, excess, is_bounded
from tests.kubelet.world import FOR_EVER, World, pod, until

MOUNT = [{"name": "v", "mountPath": "/v"}]
KI = 1024


def container(name: str = "c", limit: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, **({"resources": {"limits": {"ephemeral-storage": limit}}} if limit else {}), **more}


def spec(*containers: dict[str, Any], size: str = "", medium: str = "", **more: Any) -> dict[str, Any]:
    volume = {"name": "v", "emptyDir": {key: text for key, text in (("sizeLimit", size), ("medium", medium)) if text}}
    return {"containers": list(containers) or [container()], "volumes": [volume], **more}


SIDECAR = container("s", "2Ki", restartPolicy="Always")


@pytest.mark.parametrize(
    ("body", "volume", "own", "words"),
    [
        (spec(), 9 << 30, 0, ""),
        (spec(size="1Ki"), KI, 9 << 30, ""),
        (spec(size="1024"), KI + 1, 0, 'Usage of EmptyDir volume "v" exceeds the limit "1Ki". '),
        (spec(size="1k"), 1001, 0, 'Usage of EmptyDir volume "v" exceeds the limit "1k". '),
        (spec(size="1Ki", medium="Memory"), 9 << 30, 0, ""),  # the kernel sees to it
        (spec(container(limit="1Ki")), 0, KI, ""),
        (spec(container(limit="1Ki")), 1, KI, "Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. "),
        (spec(container(limit="1Ki"), container("d", "1Ki")), 0, KI + 1, 'Container c exceeded its local ephemeral storage limit "1Ki". '),
        (spec(container(limit="1Ki"), initContainers=[SIDECAR]), KI, KI, ""),
        (spec(container(limit="1Ki"), initContainers=[container("i", "4Ki")]), 3 * KI, KI, ""),  # the most that it may at any time
    ],
)
def test_a_pod_takes_too_much_when(body: dict[str, Any], volume: int, own: int, words: str) -> None:
    assert excess(body, Use({"v": volume}, {"c": own})) == words
    assert is_bounded(body) or not words


@pytest.mark.namespaces
async def test_who_fills_a_volume_on_the_disk_is_evicted_and_nobody_else(world: World) -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]
    await world.apply(pod(f"head -c 900k /dev/zero > /v/f; {FOR_EVER}", "b", volumes=volumes, volumeMounts=MOUNT))
    await world.apply(pod(f"mkdir -p /v/d/e; head -c 2m /dev/zero > /v/d/e/f; {FOR_EVER}", volumes=volumes, volumeMounts=MOUNT))
    words = 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '
    told = await world.reaches("Failed")
    assert (told["reason"], told["message"]) == ("Evicted", words)
    assert "terminated" in told["containerStatuses"][0]["state"]
    assert await until("an event", lambda: world.events("Evicted")) == [words]
    await world.becomes_ready("b")
    uid = (await world.pod())["metadata"]["uid"]
    await until("its volumes are gone", lambda: not (world.settings.pods / uid / "volumes").exists())


@pytest.mark.namespaces
async def test_what_a_container_writes_beside_its_volumes_counts_against_its_own_limit(world: World) -> None:
    limits = {"limits": {"ephemeral-storage": "1Mi"}}
    await world.apply(pod(f"head -c 2m /dev/zero > /tmp/f; {FOR_EVER}", resources=limits))
    assert (await world.reaches("Failed"))["message"] == "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "
