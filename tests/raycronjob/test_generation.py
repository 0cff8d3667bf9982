"""`status.observedGeneration` of a RayCronJob is kept by our definition and pruned by KubeRay's: it is written where it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.crds import crds
from rayfleet.api.meta import RAYCRONJOBS
from rayfleet.cli.discovery import keeps_cron_job_generation
from rayfleet.runtime.controller import Controller
from rayfleet.runtime.statuses import COALESCE
from rayfleet.sim.job_life import cluster_spec
from tests.parity.grounds import embedded_with
from tests.parity.ledger import Entry, Ledger
from tests.parity.peer_definitions import peer_crds
from tests.parity.stage import Stage, stage, until

NAME = "nightly"
TEMPLATE = {"entrypoint": "true", "submissionMode": "HTTPMode", "rayClusterSpec": cluster_spec()}
CRON: dict[str, Any] = {"apiVersion": "ray.io/v1", "kind": "RayCronJob", "spec": {"schedule": "@yearly", "jobTemplate": TEMPLATE}}
Definitions = Callable[[], Iterable[dict[str, Any]]]


def configured(kept: bool) -> Configuration:
    return Configuration(feature_gates={"RayCronJob": True}, has_cron_job_generation=kept)


@pytest.mark.parametrize(("definitions", "kept"), [(crds, True), (peer_crds, False)], ids=["ours", "kuberays"])
async def test_the_server_says_whether_it_keeps_the_field(definitions: Definitions, kept: bool) -> None:
    async with embedded_with(definitions)(Ledger()) as ground:
        assert await keeps_cron_job_generation(ground.user) is kept
    async with embedded_with(lambda: ())(Ledger()) as ground:
        assert await keeps_cron_job_generation(ground.user), "ours is to come"


async def test_with_our_definition_each_spec_that_was_seen_is_written_once() -> None:
    async with stage(configured(True)) as place:
        await place.apply({**CRON, "metadata": {"name": NAME, "namespace": place.namespace}})
        for number, change in ((1, {}), (2, {"suspend": True}), (3, {"schedule": "61 * * * *"}), (4, {"schedule": "@daily"})):
            if change:
                await place.client.patch(RAYCRONJOBS, NAME, place.namespace, {"spec": change})
            assert await seen(place, number) == number
        assert [str(each) for each in statuses(place)] == [f"patch raycronjobs/status {NAME} -> 200"] * 4


async def test_with_kuberays_the_status_is_silent() -> None:
    async with stage(configured(False), on=embedded_with(peer_crds)) as place:
        await place.apply({**CRON, "metadata": {"name": NAME, "namespace": place.namespace}})
        await until(lambda: rests(place, 1), what="generation 1")
        await place.client.patch(RAYCRONJOBS, NAME, place.namespace, {"spec": {"suspend": True}})
        await until(lambda: rests(place, 2), what="generation 2")
        assert statuses(place) == []


async def seen(place: Stage, generation: int) -> int:
    async def told() -> bool:
        found = await place.client.get(RAYCRONJOBS, NAME, place.namespace)
        return bool(found.get("status", {}).get("observedGeneration") == generation)

    return await until(told, what=f"generation {generation}") and generation


async def rests(place: Stage, generation: int) -> bool:
    """Was that generation seen, and has nobody written for longer than a status is held back?"""
    found = of_cron_jobs(place).informers[RAYCRONJOBS].get(place.namespace, NAME)
    return found is not None and found.metadata.generation == generation and place.ledger.quiet_for(place.namespace) > 2 * COALESCE


def of_cron_jobs(place: Stage) -> Controller[Any]:
    return next(each for each in place.manager.controllers if each.kind.resource == RAYCRONJOBS)


def statuses(place: Stage) -> list[Entry]:
    return [each for each in place.written() if each.subresource == "status"]
