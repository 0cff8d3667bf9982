"""`rayfleet autoscaler NAME` and `rayfleet logs raycluster/NAME --autoscaler`, of a cluster that was just sized."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rayfleet.cli import autoscaler, dashboard
from rayfleet.cli.story import story_of
from rayfleet.local.state import State
from tests.autoscaling.world import small, world
from tests.parity.stage import until

STATE_API = {
    "nodes": [{"node_ip": "192.0.2.1", "node_id": "ab" * 28, "state": "ALIVE", "resources_total": {"CPU": 1.0, "node:192.0.2.1": 1.0}}],
    "tasks": [{"required_resources": {"CPU": 1.0}}, {"required_resources": {"CPU": 1.0}}],
    "actors": [{"required_resources": {"GPU": 8.0}}],
    "placement_groups": [{"bundles": [{"unit_resources": {"CPU": 2.0}}, {"unit_resources": {"CPU": 4.0}}]}],
}


async def says(client: Any, state: State, cluster: Any, path: str) -> bytes:
    """A head's dashboard, as Ray 2.60's State API answers."""
    what = path.removeprefix("/api/v0/").partition("?")[0]
    there = {"result": STATE_API[what], "num_filtered": 1200 if what == "tasks" else len(STATE_API[what])}
    return json.dumps({"result": True, "data": {"result": there}}).encode()


async def test_what_a_cluster_is_sized_by_is_shown(tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(dashboard, "ask", says)
    async with world() as seen:
        ray = await seen.ray("one")
        ray.gcs.pending(2, CPU=1.0)
        ray.gcs.pending(1, GPU=8.0)
        await seen.cluster("one", small())
        await seen.becomes("one", small=2)
        await seen.says("one", "DemandInfeasible")

        async def read() -> Any:
            found = await autoscaler.read(seen.stage.client, State(tmp_path), seen.namespace, "one")
            return found if len(found["decisions"]) == 2 and len(found["instances"]) == 3 else None

        found = await until(read)
        lines = await story_of(seen.stage.client, tmp_path / "none.log", seen.namespace, "one", sizes=True)
    assert found["sizedBy"] == "the operator"
    assert [(each["group"], each["replicas"], each["max"]) for each in found["groups"]] == [("small", 2, 5)]
    assert found["demand"] == [
        {"count": 1, "what": "actors", "resources": "GPU: 8"},
        {"count": 1, "what": "placement_groups", "resources": "CPU: 2; CPU: 4"},
        {"count": 2, "what": "tasks", "resources": "CPU: 1"},
    ]
    assert any("small 0 -> 2" in line.text for line in lines)
    assert not any("Created" in line.text for line in lines), "what was done to Pods is another story"
    autoscaler.show(found)
    told = capsys.readouterr().out
    assert "is sized by the operator. Autoscaling: True (DemandInfeasible): " in told
    assert "small 0 -> 2" in told
    assert "CPU: 1" in told
    assert "(only 2 of at least 1200 tasks that wait are counted)" in told


async def test_a_dashboard_that_does_not_answer_hides_nothing_else(tmp_path: Path, monkeypatch: Any) -> None:
    async def silent(*_: Any) -> bytes:
        raise ValueError("nobody is there")

    monkeypatch.setattr(dashboard, "ask", silent)
    async with world(sized=False) as seen:
        await seen.cluster("one", small())
        found = await autoscaler.read(seen.stage.client, State(tmp_path), seen.namespace, "one")
    assert "nobody is there" in found["unread"]
    assert (found["sizedBy"], [each["group"] for each in found["groups"]]) == ("nobody yet", ["small"])
