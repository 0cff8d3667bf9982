"""A RayService `shop` of two applications, and a client that asks it fifty times a second."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.fleet import GONE, READY, Cluster, Ground
from tests.local.ray import IMPATIENT, STORE, group, template
from tests.local.waiting import eventually

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/apis/ray.io/v1/namespaces/default/rayservices"
MERGE = "application/merge-patch+json"

# `fruit` says its word, and what the cluster was made with. Of two replicas one serves while the other is replaced, and each takes whatever
# comes: what has queued up for replicas that are full Serve 2.60 may not work off for minutes.
SHOP = """
import os
from ray import serve

@serve.deployment(ray_actor_options={"num_cpus": 0.1}, max_ongoing_requests=1000)
class Word:
    def __init__(self, word):
        self.word = word

    def __call__(self, request):
        return f"{self.word} {os.environ['REV']}"

def word(args):
    return Word.options(num_replicas=2).bind(args["word"])

sums = Word.bind("sums")
"""
BRISK = {"RAY_worker_niceness": "0"}
"""Ray's own 15 let requests wait for many seconds where other tests have the processors."""
BROKEN = 'raise LookupError("the shelf is empty")\n'

# Each request has a connection of its own and ten seconds, and no second try. A line says how many of the first ones have all ended,
# what came of all, when and how the first that failed did, and by how many seconds at most the client itself was late.
LOAD = """
import asyncio, collections, datetime, json, sys, time
import aiohttp

failures = []

def failed(counts, word, why):
    counts[f"failed: {word}"] += 1
    if len(failures) < 20:
        failures.append(f"{datetime.datetime.now(datetime.UTC):%H:%M:%S.%f} {word} {why}")

async def one(session, number, unended, counts):
    try:
        async with session.get(sys.argv[1]) as answer:
            text = await answer.text()
            if answer.status == 200:
                counts[text] += 1
            else:
                failed(counts, answer.status, text[:80])
    except Exception as error:
        failed(counts, type(error).__name__, str(error)[:80])
    unended.discard(number)

async def main():
    counts, unended, tasks, begun, sent, late = collections.Counter(), set(), set(), time.monotonic(), 0, 0.0
    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=10)) as session:
        while True:
            unended.add(sent)
            task = asyncio.create_task(one(session, sent, unended, counts))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            sent += 1
            if sent % 25 == 0:
                ended = min(unended, default=sent)
                print("TOLD", json.dumps({"sent": sent, "ended": ended, "counts": counts, "failures": failures, "late": late}), flush=True)
            await asyncio.sleep(max(0, begun + sent * 0.02 - time.monotonic()))
            late = max(late, time.monotonic() - begun - sent * 0.02)

asyncio.run(main())
"""


class Told(NamedTuple):
    """By the client: requests sent, how many of the first ones have all ended, and the ends of all: an answer, or `failed: WHY`. `failures`
    are the times and words of the first twenty, `late` by how many seconds at most the client was behind its own times."""

    sent: int = 0
    ended: int = 0
    counts: dict[str, int] = {}
    failures: list[str] = []
    late: float = 0.0

    def failed(self) -> dict[str, int]:
        return {word: times for word, times in self.counts.items() if word.startswith("failed")}


def config(word: str = "fruit", sums: str = "shop:sums") -> str:
    applications = [
        {"name": "fruit", "route_prefix": "/fruit", "import_path": "shop:word", "args": {"word": word}},
        {"name": "sums", "route_prefix": "/sums", "import_path": sums},
    ]
    return json.dumps({"applications": applications})


class Shop:
    """`place` is a directory on this machine that the Pods see; the applications are put there."""

    def __init__(self, site: Ground, place: Path) -> None:
        self.site, self.place, self.path = site, place, f"{SERVICES}/shop"
        (place / "shop.py").write_text(SHOP)
        (place / "broken.py").write_text(BROKEN)

    def pod(self, memory: str, rev: str, variables: dict[str, str]) -> dict[str, Any]:
        pod = template(
            memory, {**variables, **BRISK, "PYTHONPATH": "/mnt/shop", "REV": rev}, volumeMounts=[{"name": "shop", "mountPath": "/mnt/shop"}]
        )
        pod["spec"]["volumes"] = [{"name": "shop", "hostPath": {"path": str(self.place)}}]
        return pod

    def head_alone(self, rev: str) -> dict[str, Any]:
        """A cluster's spec."""
        return {"rayVersion": "2.60.0", "headGroupSpec": {"rayStartParams": STORE, "template": self.pod("2Gi", rev, IMPATIENT)}}

    def kept(self, rev: str) -> dict[str, Any]:
        """A cluster's spec: the head's state is on a volume, and the applications run on a worker."""
        head = {"rayStartParams": {**STORE, "num-cpus": "0"}, "template": self.pod("2Gi", rev, {})}
        workers = [group("small", template=self.pod("2Gi", rev, {}))]
        options = {"backend": "rocksdb"}
        return {"rayVersion": "2.60.0", "headGroupSpec": head, "workerGroupSpecs": workers, "gcsFaultToleranceOptions": options}

    def open(self, **more: Any) -> None:
        spec = {"serveConfigV2": config(), "rayClusterConfig": self.head_alone("1"), "rayClusterDeletionDelaySeconds": 2, **more}
        body = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "shop"}, "spec": spec}
        code, answer = self.site.request("POST", SERVICES, body)
        assert code == 201, answer
        self.await_ready()

    def await_ready(self) -> None:
        eventually(self.is_ready, READY, f"the shop is ready\n{self.site.told()}")

    def edit(self, **spec: Any) -> None:
        code, answer = self.site.request("PATCH", self.path, {"spec": spec}, kind=MERGE)
        assert code == 200, answer

    def found(self) -> dict[str, Any]:
        """{} when it is not there."""
        code, answer = self.site.request("GET", self.path)
        return answer if code == 200 else {}

    def conditions(self) -> dict[str, dict[str, Any]]:
        return {each["type"]: each for each in self.found().get("status", {}).get("conditions", ())}

    def is_ready(self) -> bool:
        """As its present spec asks for, with one cluster."""
        found = self.found()
        told = {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", ())}
        current = found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]
        return current and told["Ready"] == "True" and told["UpgradeInProgress"] == "False" and len(self.clusters()) == 1

    def clusters(self) -> list[str]:
        code, answer = self.site.request(
            "GET", "/apis/ray.io/v1/namespaces/default/rayclusters?labelSelector=ray.io/originated-from-cr-name=shop"
        )
        assert code == 200, answer
        return sorted(each["metadata"]["name"] for each in answer["items"])

    def cluster(self) -> Cluster:
        """The only one that it has."""
        (name,) = self.clusters()
        return Cluster(self.site, name)

    def warnings(self) -> str:
        """The events that warn, for who looks into a failure."""
        code, answer = self.site.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
        found = [each for each in answer["items"] if each["type"] == "Warning"] if code == 200 else []
        return "\n".join(f"{each.get('eventTime')} {each['regarding'].get('name')}: {each.get('note')}" for each in found)

    def close(self) -> None:
        """Nothing is left of it."""
        self.site.request("DELETE", self.path)
        eventually(lambda: not self.found() and not self.clusters(), GONE, "the shop is gone")


class Load:
    """The client, in a Pod of its own, from the first answer on."""

    def __init__(self, site: Ground, url: str = "http://shop-serve-svc:8000/fruit") -> None:
        self.site, self.url = site, url

    def start(self) -> Load:
        container = {"name": "load", "image": "any", "command": [sys.executable, "-c", LOAD, self.url]}
        pod = {
            "metadata": {"name": "load"},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]},
        }
        code, answer = self.site.request("POST", PODS, pod)
        assert code == 201, answer
        eventually(lambda: self.told().ended, READY, "requests are sent")
        return self

    def told(self) -> Told:
        code, answer = self.site.request("GET", f"{PODS}/load/log?tailLines=3")
        lines = [line for line in str(answer).splitlines() if line.startswith("TOLD") and line.endswith("}")] if code == 200 else []
        return Told(**json.loads(lines[-1].removeprefix("TOLD"))) if lines else Told()

    def await_answers(self, word: str, number: int) -> None:
        eventually(lambda: self.told().counts.get(word, 0) >= number, READY, f"{number} times {word!r}: {self.told()}")

    def settled(self) -> Told:
        """When all that were sent until now have ended."""
        sent = self.told().sent
        return eventually(lambda: (told := self.told()).ended >= sent and told, READY, "the requests have ended")

    def stop(self) -> None:
        self.site.request("DELETE", f"{PODS}/load")
        eventually(lambda: self.site.request("GET", f"{PODS}/load")[0] == 404, GONE, "the client is gone")
