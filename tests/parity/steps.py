"""What happens after a case's input was applied: the rows of steps.tsv, and the deeds behind their words."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rayfleet.api.meta import PODS, RAYCLUSTERS, SECRETS, SERVICES
from tests.parity.canonical import Json
from tests.parity.stage import RESOURCEQUOTAS, Stage, until

FILE = Path(__file__).with_name("steps.tsv")
HOLLOW = "rayfleet.dev/hollow"
HOLLOW_JOB = "rayfleet.dev/hollow-job"
HELD = "example.test/held"


@dataclass
class Play:
    """A case on the stage. `cluster` is the applied object."""

    stage: Stage
    namespace: str
    cluster: Json

    @property
    def name(self) -> str:
        return str(self.cluster["metadata"]["name"])


@dataclass(frozen=True)
class Step:
    deed: str
    details: Any

    async def take(self, play: Play) -> None:
        await DEEDS[self.deed](play, self.details)


@cache
def table(file: Path = FILE) -> dict[str, tuple[Step, ...]]:
    """The steps of each case, in order."""
    found: dict[str, tuple[Step, ...]] = {}
    for line in file.read_text().splitlines():
        if line and not line.startswith("#"):
            case, number, deed, details = line.split("\t")
            assert int(number) == len(found.setdefault(case, ())) + 1, line
            found[case] += (Step(deed, json.loads(details)),)
    return found


async def patch(play: Play, operations: list[Json]) -> None:
    await play.stage.client.patch(RAYCLUSTERS, play.name, play.namespace, operations, kind="json")


async def merge(play: Play, body: Json) -> None:
    await play.stage.client.patch(RAYCLUSTERS, play.name, play.namespace, body)


async def name_workers(play: Play, details: Json) -> None:
    """As Ray's autoscaler does it: a lower count and the names of those that shall go, in one patch."""
    workers = await play.stage.pods(play.namespace)
    names = [workers[number - 1]["metadata"]["name"] for number in details["numbers"]]
    group = "/spec/workerGroupSpecs/0"
    strategy = {"op": "add", "path": f"{group}/scaleStrategy", "value": {"workersToDelete": names}}
    await patch(play, [{"op": "replace", "path": f"{group}/replicas", "value": details["replicas"]}, strategy])


async def pod_of(play: Play, details: Json) -> str:
    return str((await play.stage.pods(play.namespace, details["group"]))[details["number"] - 1]["metadata"]["name"])


async def delete_pod(play: Play, details: Json) -> None:
    await play.stage.client.delete(PODS, await pod_of(play, details), play.namespace)


async def fail_pod(play: Play, details: Json) -> None:
    wish = {"metadata": {"annotations": {HOLLOW: "fail:1"}}}
    await play.stage.client.patch(PODS, await pod_of(play, details), play.namespace, wish)


async def end_container(play: Play, details: Json) -> None:
    """The first container exits while its Pod goes on running, as between an exit and a restart."""
    name = await pod_of(play, details)
    pod = await play.stage.client.get(PODS, name, play.namespace)
    first, *others = pod["status"]["containerStatuses"]
    ended = {
        "exitCode": details["code"],
        "reason": "Error",
        "startedAt": pod["status"]["startTime"],
        "finishedAt": pod["status"]["startTime"],
    }
    unready = [
        {**each, "status": "False"} if each["type"] in ("Ready", "ContainersReady") else each for each in pod["status"]["conditions"]
    ]
    status = {"containerStatuses": [{**first, "ready": False, "state": {"terminated": ended}}, *others], "conditions": unready}
    await play.stage.client.patch(PODS, name, play.namespace, {"status": status}, subresource="status")


async def unlabel_pod(play: Play, details: Json) -> None:
    body = {"metadata": {"labels": {details["label"]: None}}}
    await play.stage.client.patch(PODS, await pod_of(play, details), play.namespace, body)


async def delete_service(play: Play, details: Json) -> None:
    await play.stage.client.delete(SERVICES, details["name"], play.namespace)


async def delete_secret(play: Play, details: Json) -> None:
    await play.stage.client.delete(SECRETS, details["name"], play.namespace)


async def merge_service(play: Play, details: Json) -> None:
    await play.stage.client.patch(SERVICES, details["name"], play.namespace, details["body"])


async def raise_quota(play: Play, hard: Json) -> None:
    (quota,) = await play.stage.client.list(RESOURCEQUOTAS, play.namespace)
    await play.stage.client.patch(RESOURCEQUOTAS, quota["metadata"]["name"], play.namespace, {"spec": {"hard": hard}})


async def delete(play: Play, _: Json) -> None:
    await play.stage.client.delete(RAYCLUSTERS, play.name, play.namespace, propagation="Background")


async def apply_again(play: Play, _: Json) -> None:
    """Deleted, and created anew as soon as the name is free, while the old Pods take their time to go."""
    client = play.stage.client
    old = [pod["metadata"]["name"] for pod in await client.list(PODS, play.namespace)]
    for name in old:
        await client.patch(PODS, name, play.namespace, {"metadata": {"finalizers": [HELD]}})
    await delete(play, {})

    async def gone() -> bool:
        return await play.stage.cluster(play.namespace, play.name) is None

    await until(gone)
    await client.create(RAYCLUSTERS, play.cluster)

    async def renewed() -> bool:
        return len(await client.list(PODS, play.namespace)) > len(old)

    await until(renewed)
    for name in old:
        await client.patch(PODS, name, play.namespace, {"metadata": {"finalizers": None}})


DEEDS: dict[str, Callable[[Play, Any], Awaitable[None]]] = {
    "patch": patch,
    "merge": merge,
    "name workers": name_workers,
    "delete Pod": delete_pod,
    "fail Pod": fail_pod,
    "end container": end_container,
    "unlabel Pod": unlabel_pod,
    "delete Service": delete_service,
    "delete Secret": delete_secret,
    "merge Service": merge_service,
    "raise quota": raise_quota,
    "delete": delete,
    "apply again": apply_again,
}
