"""Broken clusters: the embedded API, the real operator, and Pods whose kubelet and scheduler are played by the test."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rayfleet.api.crds import crds
from tests.cli.api import TOKEN, api_server
from tests.local.waiting import eventually

Obj = dict[str, Any]
NODE = "node-1"
WATCHED, UNWATCHED = "team", "by-hand"
LIVE = ("default", WATCHED)


def stamp(ago: float = 0.0) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))


@dataclass
class Ward:
    """An API server to which the tests speak as everybody: user, scheduler, kubelet."""

    kubeconfig: Path
    server: str
    logs: dict[tuple[str, str, bool], str] = field(default_factory=dict)
    events: int = 0

    def send(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Obj:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def create(self, body: Obj, plural: str) -> Obj:
        group = body["apiVersion"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        place = body["metadata"].get("namespace")
        return self.send("POST", f"{root}/namespaces/{place}/{plural}" if place else f"{root}/{plural}", body)

    def cluster(self, namespace: str, name: str) -> Obj:
        return self.send("GET", f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/{name}")

    def pods(self, namespace: str, name: str, node_type: str) -> list[Obj]:
        labels = f"ray.io/cluster={name},ray.io/node-type={node_type}"
        return list(self.send("GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector={labels}")["items"])

    def bind(self, pod: Obj) -> None:
        meta = pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}, "target": {"kind": "Node", "name": NODE}}
        self.send("POST", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding", target)

    def status(self, pod: Obj, **status: Any) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        self.send("PATCH", path, {"status": status}, "application/merge-patch+json")

    def event(self, about: Obj, reason: str, note: str, *, source: str = "kubelet", count: int = 1, type: str = "Warning") -> None:
        """As Kubernetes' own components still write them: through core/v1, with counts."""
        self.events += 1
        meta = about["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{meta['name']}.{self.events:x}", "namespace": meta["namespace"]},
            "involvedObject": {
                "apiVersion": about.get("apiVersion", "v1"),
                "kind": about.get("kind", "Pod"),
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "reason": reason,
            "message": note,
            "type": type,
            "count": count,
            "firstTimestamp": stamp(300),
            "lastTimestamp": stamp(),
            "source": {"component": source, "host": NODE},
        }
        self.create(body, "events")

    def told(self, namespace: str, name: str) -> list[Obj]:
        """The Events of a cluster."""
        fields = f"regarding.kind=RayCluster,regarding.name={name}"
        return list(self.send("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events?fieldSelector={fields}")["items"])

    def log(self, pod: Obj, container: str, text: str, *, previous: bool = False) -> None:
        self.logs[pod["metadata"]["name"], container, previous] = text


@contextmanager
def ward(directory: Path) -> Iterator[Ward]:
    """With the kinds, two namespaces that an operator watches, one that nobody does, and a node."""
    with api_server(directory) as kubeconfig:
        server = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        place = Ward(kubeconfig, server)
        for crd in crds():
            place.create(crd, "customresourcedefinitions")
        for name in (WATCHED, UNWATCHED):
            place.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "namespaces")
        with kubelet(place) as port, operator(kubeconfig, directory):
            annotations = {"rayfleet.dev/kubelet-scheme": "http"}
            status = {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            }
            place.create(
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "annotations": annotations}, "status": status}, "nodes"
            )
            yield place


@contextmanager
def kubelet(place: Ward) -> Iterator[int]:
    """Only its logs."""

    class Logs(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            _, _, _, pod, container = url.path.split("/")
            previous = parse_qs(url.query).get("previous") == ["true"]
            text = place.logs.get((pod, container, previous))
            content = (f'previous terminated container "{container}" in pod "{pod}" not found' if text is None else text).encode()
            self.send_response(400 if text is None else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Logs)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def operator(kubeconfig: Path, directory: Path) -> Iterator[None]:
    """The real command line."""
    command = [sys.executable, "-m", "rayfleet", "run", "--kubeconfig", str(kubeconfig), "--no-leader-election"]
    with (directory / "operator.log").open("w") as log:
        process = subprocess.Popen([*command, "--watch-namespace", ",".join(LIVE)], stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


def told(place: Ward, namespace: str, name: str, condition: str, *reasons: str) -> Obj:
    """Wait until the operator says so of a cluster."""

    def look() -> Obj | None:
        found = place.cluster(namespace, name)
        for each in (found.get("status") or {}).get("conditions") or ():
            if each["type"] == condition and each["reason"] in reasons:
                return found
        return None

    return eventually(look, 30.0, f"{condition} of {name} is one of {reasons}")


def pods_of(place: Ward, namespace: str, name: str, node_type: str, number: int = 1) -> list[Obj]:
    """Wait until the operator has made so many."""

    def look() -> list[Obj] | None:
        found = [pod for pod in place.pods(namespace, name, node_type) if "deletionTimestamp" not in pod["metadata"]]
        return found if len(found) == number else None

    return eventually(look, 30.0, f"{number} {node_type} Pods of {name}")
