"""An API server with RayJobs, the operator that brings them on, and behind its proxy a dashboard: all in a thread of the test's process."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.cli.api import kubeconfig

JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
PROXY = "/api/v1/namespaces/default/services/{service}:dashboard/proxy"
TOKEN = "the-token"
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class FakeRay:
    """Each GET of a RayJob brings it one step on. A Ray job ends as `ends` says when its whole `log` was told, unless `endless`; so many
    connections as `breaks` says are cut before. `done` are the requests that changed something, in their order."""

    def __init__(self) -> None:
        self.log, self.ends, self.exit_code = "one\ntwo\nthree\n", "SUCCEEDED", 0
        self.breaks, self.endless, self.holds = 0, False, False
        self.refusals: dict[str, int] = {}
        self.submitter = ""
        """what a submitter's Pod has printed; "": there is none"""
        self.jobs: dict[str, dict[str, Any]] = {}
        self.ray: dict[str, dict[str, Any]] = {}
        self.packages: dict[str, bytes] = {}
        self.done: list[str] = []
        self.seen = threading.Event()
        """somebody follows a log, or waits for a cluster that `holds`"""

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        add = app.router.add_route
        add("POST", JOBS, self.create)
        add("GET", JOBS + "/{name}", self.look)
        add("PATCH", JOBS + "/{name}", self.patch)
        add("DELETE", JOBS + "/{name}", self.remove)
        add("GET", "/apis/ray.io/v1/namespaces/default/rayclusters/{name}", self.cluster)
        add("GET", "/api/v1/namespaces/default/pods", self.pods)
        add("GET", "/api/v1/namespaces/default/pods/a-submitter/log", self.pod_log)
        add("GET", "/api/v1/namespaces/default/secrets/one", self.secret)
        dashboard = web.Application(middlewares=[shown_token], client_max_size=2**26)
        dashboard.router.add_route("*", "/api/packages/gcs/{name}", self.package)
        dashboard.router.add_route("POST", "/api/jobs/", self.submit)
        dashboard.router.add_route("GET", "/api/jobs/{id}", self.info)
        dashboard.router.add_route("POST", "/api/jobs/{id}/stop", self.stop)
        dashboard.router.add_route("GET", "/api/jobs/{id}/logs", self.logs)
        dashboard.router.add_route("GET", "/api/jobs/{id}/logs/tail", self.tail)
        app.add_subapp(PROXY.format(service="one-head-svc"), dashboard)
        return app

    async def create(self, request: web.Request) -> web.Response:
        job = await request.json()
        name = job["metadata"]["name"]
        self.done.append(f"create {name}")
        job["metadata"] |= {"uid": "abcde-1", "namespace": "default"}
        self.jobs[name] = job
        return web.json_response(job, status=201)

    async def look(self, request: web.Request) -> web.Response:
        job = self.jobs.get(request.match_info["name"])
        if job is None:
            return web.json_response({"kind": "Status", "message": "there is none", "reason": "NotFound"}, status=404)
        self.advance(job)
        return web.json_response(job)

    def advance(self, job: dict[str, Any]) -> None:
        status, spec = job.setdefault("status", {}), job["spec"]
        state = status.get("jobDeploymentStatus", "")
        interactive = spec["submissionMode"] == "InteractiveMode"
        if state == "":
            status |= {"jobDeploymentStatus": "Initializing", "rayClusterName": "one", "message": "the head comes up"}
        elif state == "Initializing" and interactive and self.holds:
            self.seen.set()
        elif state == "Initializing" and interactive:
            status |= {"jobDeploymentStatus": "Waiting", "message": ""}
        elif state == "Initializing" or (state == "Waiting" and spec.get("jobId")):
            name = spec.get("jobId") or "by-operator"
            self.ray.setdefault(name, {"status": "RUNNING", "submission_id": name})
            status |= {"jobDeploymentStatus": "Running", "jobId": name, "jobStatus": "RUNNING", "message": ""}
        elif state == "Running" and (word := self.ray[status["jobId"]]["status"]) in ENDED:
            over = "Failed" if word == "FAILED" else "Complete"
            status |= {
                "jobDeploymentStatus": over,
                "jobStatus": word,
                "reason": {"FAILED": "AppFailed", "STOPPED": "JobStopped"}.get(word, ""),
            }

    async def patch(self, request: web.Request) -> web.Response:
        job = self.jobs[request.match_info["name"]]
        patch = await request.json()
        self.done.append(f"patch {patch}")
        job["spec"] |= patch["spec"]
        return web.json_response(job)

    async def remove(self, request: web.Request) -> web.Response:
        self.done.append(f"delete {request.match_info['name']}")
        self.jobs.pop(request.match_info["name"], None)
        return web.json_response({"kind": "Status", "status": "Success"})

    async def cluster(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if self.refusals.get("cluster"):
            return web.json_response({"kind": "Status", "message": f"RayCluster {name} is gone", "reason": "NotFound"}, status=404)
        return web.json_response({"metadata": {"name": name, "namespace": "default"}, "status": {"head": {"serviceName": "one-head-svc"}}})

    async def pods(self, request: web.Request) -> web.Response:
        if "job-name" in request.query["labelSelector"]:
            return web.json_response({"items": [{"metadata": {"name": "a-submitter"}}] if self.submitter else []})
        variable = {"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": {"name": "one", "key": "auth_token"}}}
        return web.json_response({"items": [{"spec": {"containers": [{"env": [variable]}]}}]})

    async def pod_log(self, request: web.Request) -> web.Response:
        return web.Response(text=self.submitter)

    async def secret(self, request: web.Request) -> web.Response:
        return web.json_response({"data": {"auth_token": base64.b64encode(TOKEN.encode()).decode()}})

    async def package(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if request.method == "GET":
            return web.Response(status=200 if name in self.packages else 404)
        if code := self.refusals.get("upload"):
            return web.Response(status=code, text="there is no room")
        self.done.append("upload")
        self.packages[name] = await request.read()
        return web.Response()

    async def submit(self, request: web.Request) -> web.Response:
        body = await request.json()
        name = body["submission_id"]
        self.done.append(f"submit {name}")
        if code := self.refusals.get("submit"):
            return web.Response(status=code, text="no such field")
        if name in self.ray:
            return web.Response(status=500, text="it already exists")
        self.ray[name] = {"status": "RUNNING", "submission_id": name, **body}
        if self.refusals.pop("answer", 0):
            return web.Response(status=502, text="the way back is lost")
        return web.json_response({"submission_id": name})

    async def info(self, request: web.Request) -> web.Response:
        found = self.ray.get(request.match_info["id"])
        return web.json_response(found) if found else web.Response(status=404, text="no such job")

    async def stop(self, request: web.Request) -> web.Response:
        self.done.append(f"stop {request.match_info['id']}")
        self.ray[request.match_info["id"]]["status"] = "STOPPED"
        return web.json_response({"stopped": True})

    async def logs(self, request: web.Request) -> web.Response:
        return web.json_response({"logs": self.log})

    async def tail(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.seen.set()
        half = len(self.log) // 2
        await socket.send_str(self.log[:half])
        if self.breaks:
            self.breaks -= 1
            request.transport.abort()  # type: ignore[union-attr]
            return socket
        if self.endless:
            await asyncio.Event().wait()
        await socket.send_str(self.log[half:])
        job = self.ray[request.match_info["id"]]
        if job["status"] not in ENDED:
            job |= {"status": self.ends, "driver_exit_code": self.exit_code}
        return socket


@web.middleware
async def shown_token(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.headers.get("x-ray-authorization") != f"Bearer {TOKEN}":
        return web.Response(status=401, text="Unauthorized")
    answer: web.StreamResponse = await handler(request)
    return answer


@contextmanager
def fake_ray(directory: Path) -> Iterator[tuple[FakeRay, str]]:
    """(the fake, the path of a kubeconfig that leads to it)."""
    fake, loop = FakeRay(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def serve() -> web.AppRunner:
        runner = web.AppRunner(fake.app(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner

    runner = asyncio.run_coroutine_threadsafe(serve(), loop).result(20)
    try:
        yield fake, str(kubeconfig(directory, runner.addresses[0][1]))
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
