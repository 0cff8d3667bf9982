"""Real Ray Serve in a local fleet: two applications come up, a config changes in place, and a cluster is replaced under load."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.local.fleet import Fleet
from tests.local.ray import STORE, template
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.skipif(importlib.util.find_spec("starlette") is None, reason="Serve needs what `ray[serve]` brings"),
]

SERVICES = "/apis/ray.io/v1/namespaces/default/rayservices"
APP = """
import os
from ray import serve

@serve.deployment(ray_actor_options={"num_cpus": 0})
class Word:
    def __init__(self, word):
        self.word = word

    def __call__(self, request):
        return f"{self.word} {os.environ.get('REV', '1')}"

def word(args):
    return Word.bind(args["word"])

fruit, sums = Word.bind("fruit"), Word.bind("sums")
"""
# One request in a connection of its own, 50 a second, each with ten seconds; no second try. What came of them is printed every second.
LOAD = """
import asyncio, collections, sys, time
import aiohttp

async def one(session, counts):
    try:
        async with session.get("http://shop-serve-svc:8000/fruit") as answer:
            text = await answer.text()
            counts[text if answer.status == 200 else f"failed {answer.status}"] += 1
    except Exception as error:
        counts[f"failed {type(error).__name__} {error}"] += 1

async def main():
    counts = collections.Counter()
    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=10)) as session:
        begun, sent, tasks = time.monotonic(), 0, set()
        while True:
            task = asyncio.create_task(one(session, counts))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            sent += 1
            if sent % 50 == 0:
                print(sent, dict(counts), flush=True)
            await asyncio.sleep(max(0, begun + sent * 0.02 - time.monotonic()))

asyncio.run(main())
"""


def config(word: str = "fruit") -> str:
    applications = [
        {"name": "fruit", "route_prefix": "/fruit", "import_path": "shop:word", "args": {"word": word}},
        {"name": "sums", "route_prefix": "/sums", "import_path": "shop:sums"},
    ]
    return json.dumps({"applications": applications})


def cluster(paths: Sequence[str], rev: str = "1") -> dict[str, Any]:
    """`paths` are on this machine, and mounted: a Pod has a /tmp of its own."""
    pod = template("2Gi")
    ray = pod["spec"]["containers"][0]
    places = [f"/mnt/{number}" for number in range(len(paths))]
    ray["env"] += [{"name": "PYTHONPATH", "value": ":".join(places)}, {"name": "REV", "value": rev}]
    ray["volumeMounts"] = [{"name": f"place-{number}", "mountPath": place} for number, place in enumerate(places)]
    pod["spec"]["volumes"] = [{"name": f"place-{number}", "hostPath": {"path": path}} for number, path in enumerate(paths)]
    return {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": STORE, "template": pod}, "workerGroupSpecs": []}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Where the Pods find the application, and Serve's own needs."""
    place = tmp_path_factory.mktemp("shop")
    (place / "shop.py").write_text(APP)
    found = importlib.util.find_spec("starlette")
    assert found is not None and found.origin is not None
    return str(place), str(Path(found.origin).parent.parent)


@pytest.fixture(scope="module")
def shop(ray_fleet: Fleet, path: tuple[str, str]) -> Fleet:
    ray_fleet.up()
    spec = {"serveConfigV2": config(), "rayClusterConfig": cluster(path), "rayClusterDeletionDelaySeconds": 5}
    ray_fleet.apply({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "shop"}, "spec": spec})
    eventually(lambda: is_ready(ray_fleet), 180.0, "the service is ready")
    return ray_fleet


def service(fleet: Fleet) -> dict[str, Any]:
    found: dict[str, Any] = fleet.read(f"{SERVICES}/shop") or {}
    return found


def is_ready(fleet: Fleet, generation: int = 0) -> bool:
    found = service(fleet).get("status", {})
    told = {each["type"]: each["status"] for each in found.get("conditions", ())}
    current = found.get("observedGeneration", 0) >= (generation or service(fleet).get("metadata", {}).get("generation", 1))
    return current and told.get("Ready") == "True" and told.get("UpgradeInProgress") == "False"


def edit(fleet: Fleet, **spec: Any) -> None:
    code, answer = fleet.request("PATCH", f"{SERVICES}/shop", {"spec": spec}, kind="application/merge-patch+json")
    assert code == 200, answer


def clusters(fleet: Fleet) -> list[str]:
    return sorted(each["metadata"]["name"] for each in fleet.read("/apis/ray.io/v1/namespaces/default/rayclusters")["items"])


def last_line(fleet: Fleet) -> tuple[int, dict[str, int]]:
    """How many requests were sent, and what came of them."""
    lines = [line for line in fleet.run("logs", "load", "--tail", "3").splitlines() if "{" in line]
    if not lines:
        return 0, {}
    sent, _, told = lines[-1].partition(" ")
    return int(sent), dict(ast.literal_eval(told))


@pytest.fixture(scope="module")
def load(shop: Fleet) -> Fleet:
    container = {"name": "load", "image": "any", "command": [sys.executable, "-c", LOAD]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "load"}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    shop.apply(pod)
    eventually(lambda: last_line(shop)[1].get("fruit 1", 0) > 50, 60.0, "requests are answered")
    return shop


def test_two_applications_come_up(shop: Fleet) -> None:
    applications = service(shop)["status"]["activeServiceStatus"]["applicationStatuses"]
    assert {name: each["status"] for name, each in applications.items()} == {"fruit": "RUNNING", "sums": "RUNNING"}


def test_a_cluster_is_replaced_under_load_and_no_request_fails(load: Fleet, path: tuple[str, str]) -> None:
    (first,) = clusters(load)
    edit(load, rayClusterConfig=cluster(path, rev="2"))
    eventually(lambda: first not in clusters(load) and is_ready(load), 240.0, "the second cluster serves alone")
    eventually(lambda: last_line(load)[1].get("fruit 2", 0) > 250, 60.0, "the second cluster answers")
    sent, counts = last_line(load)
    print(f"{sent} requests: {counts}")
    assert {word for word in counts if word.startswith("failed")} == set(), counts


def test_a_config_changes_in_place(load: Fleet) -> None:
    before = clusters(load)
    edit(load, serveConfigV2=config("pear"))
    eventually(lambda: last_line(load)[1].get("pear 2", 0) > 50, 60.0, "the new word is served")
    eventually(lambda: is_ready(load), 30.0)
    assert clusters(load) == before
    assert not [word for word in last_line(load)[1] if word.startswith("failed")], last_line(load)


def test_an_application_that_cannot_be_imported_tells_the_last_line_of_its_traceback(load: Fleet) -> None:
    edit(load, serveConfigV2=config("pear").replace("shop:sums", "shop:nothing"))

    def told() -> bool:
        conditions = {each["type"]: each for each in service(load)["status"]["conditions"]}
        ready = conditions["Ready"]
        return (
            ready["reason"] == "ApplicationsNotRunning"
            and "application sums is DEPLOY_FAILED" in ready["message"]
            and "nothing" in ready["message"]
        )

    eventually(told, 60.0, "the condition tells why")


def test_deleted_nothing_is_left(load: Fleet) -> None:
    load.run("delete", "pod", "load")
    load.run("delete", "rayservice", "shop")
    eventually(lambda: not service(load) and not clusters(load), 90.0, "all is gone")
