"""What happens after a case's input was applied: the rows of steps.tsv, and the deeds behind their words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from rayfleet.api.meta import PODS, RAYCLUSTERS, SERVICES
from tests.parity.canonical import Json
from tests.parity.owners.play import Play
from tests.parity.stage import until
from tests.parity.steps import HELD, Step, table

FILE = Path(__file__).with_name("steps.tsv")


def steps_of(case: str) -> tuple[Step, ...]:
    return table(FILE).get(case, ())


async def take(play: Play, step: Step) -> None:
    """`seconds` among the details: so long may pass before it is looked at what came of it."""
    await DEEDS[step.deed](play, step.details)
    if isinstance(step.details, dict):
        await play.clock.sleep(step.details.get("seconds", 0))


async def patch(play: Play, operations: list[Json]) -> None:
    await play.stage.client.patch(play.resource, play.name, play.namespace, operations, kind="json")


async def patch_beside_stuck_applications(play: Play, operations: list[Json]) -> None:
    """From now on applications of new clusters stay DEPLOYING."""
    play.dashboard.stuck = "DEPLOYING"
    await patch(play, operations)


async def patch_half_way(play: Play, operations: list[Json]) -> None:
    """The step at which the Gateways were held up is taken after it."""
    await patch(play, operations)
    play.roads.release(play.namespace)


async def merge(play: Play, body: Json) -> None:
    await play.stage.client.patch(play.resource, play.name, play.namespace, body)


async def wait(play: Play, seconds: float) -> None:
    """And until the time that is to pass has passed."""
    await play.clock.sleep(max(seconds, play.due + 1.0 - play.clock.time()))


async def change_ray(play: Play, details: Json) -> None:
    play.dashboard.mood = details["mood"]


async def submit_by_hand(play: Play, details: Json) -> None:
    """A user submits a job, and tells the object which one it is."""
    play.dashboard.submit(await play.head(), {"submission_id": details["id"], "entrypoint": "python by_hand.py"})
    await merge(play, {"spec": {"jobId": details["id"]}})


async def end_submitter(play: Play, details: Json) -> None:
    (pod,) = await play.stage.client.list(PODS, play.namespace, labels="batch.kubernetes.io/job-name")
    (container,) = pod["status"]["containerStatuses"]
    start = pod["status"]["startTime"]
    ended = {"exitCode": details["code"], "reason": "Error", "startedAt": start, "finishedAt": start}
    status = {"phase": "Failed", "containerStatuses": [{**container, "ready": False, "state": {"terminated": ended}}]}
    await play.stage.client.patch(PODS, pod["metadata"]["name"], play.namespace, {"status": status}, subresource="status")


async def delete_head(play: Play, _: Json) -> None:
    await play.stage.client.delete(PODS, await play.head(), play.namespace)


async def delete_cluster(play: Play, _: Json) -> None:
    (cluster,) = await play.clusters()
    await play.stage.client.delete(RAYCLUSTERS, cluster["metadata"]["name"], play.namespace, propagation="Background")


async def delete_service(play: Play, details: Json) -> None:
    await play.stage.client.delete(SERVICES, details["name"], play.namespace)


async def merge_service(play: Play, details: Json) -> None:
    await play.stage.client.patch(SERVICES, details["name"], play.namespace, details["body"])


async def delete(play: Play, _: Json) -> None:
    await play.stage.client.delete(play.resource, play.name, play.namespace, propagation="Background")


async def apply_again(play: Play, _: Json) -> None:
    """Deleted, and created anew as soon as the name is free, while the old Pods take their time to go."""
    client = play.stage.client
    old = [pod["metadata"]["name"] for pod in await client.list(PODS, play.namespace)]
    for name in old:
        await client.patch(PODS, name, play.namespace, {"metadata": {"finalizers": [HELD]}})
    await delete(play, {})

    async def gone() -> bool:
        return await play.get() is None

    await until(gone)
    await client.create(play.resource, play.owner)

    async def renewed() -> bool:
        return len(await client.list(PODS, play.namespace)) > len(old)

    await until(renewed)
    for name in old:
        await client.patch(PODS, name, play.namespace, {"metadata": {"finalizers": None}})


DEEDS: dict[str, Callable[[Play, Any], Awaitable[None]]] = {
    "patch": patch,
    "patch, stuck": patch_beside_stuck_applications,
    "patch half way": patch_half_way,
    "merge": merge,
    "wait": wait,
    "Ray": change_ray,
    "submit by hand": submit_by_hand,
    "end submitter": end_submitter,
    "delete head": delete_head,
    "delete cluster": delete_cluster,
    "delete Service": delete_service,
    "merge Service": merge_service,
    "delete": delete,
    "apply again": apply_again,
}
