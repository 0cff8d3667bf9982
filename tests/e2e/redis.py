"""A Redis in a Pod behind a Service, and a look into it."""

from __future__ import annotations

import shutil
import socket
from typing import Any

from tests.e2e.servers import Site, is_ready
from tests.local.waiting import eventually

SERVER = shutil.which("redis-server")
PASSWORD = "open-sesame"
PLACE = "/api/v1/namespaces/default"


class Redis:
    """`name` is that of Pod, Service and Secret alike; the Secret's key is `password`."""

    def __init__(self, site: Site, name: str = "redis") -> None:
        self.site, self.name = site, name

    def start(self) -> Redis:
        """Returns when it answers."""
        assert SERVER
        marks = {"app": self.name}
        secret = {"secretKeyRef": {"name": self.name, "key": "password"}}
        container = {
            "name": "redis",
            "image": "redis:7",
            "command": [SERVER, "--port", "6379", "--protected-mode", "no", "--save", "", "--requirepass", "$(PASSWORD)"],
            "env": [{"name": "PASSWORD", "valueFrom": secret}],
            "readinessProbe": {"tcpSocket": {"port": 6379}, "periodSeconds": 1},
        }
        self.make("secrets", {"stringData": {"password": PASSWORD}})
        self.make("services", {"spec": {"selector": marks, "ports": [{"port": 6379}]}})
        self.make("pods", {"spec": {"terminationGracePeriodSeconds": 2, "containers": [container]}}, marks)
        eventually(lambda: is_ready(self.pod()), 60.0, f"Redis\n{self.site.told()}")
        return self

    def make(self, plural: str, body: dict[str, Any], marks: dict[str, str] | None = None) -> None:
        code, answer = self.site.server.request(
            "POST", f"{PLACE}/{plural}", {"metadata": {"name": self.name, "labels": marks or {}}, **body}
        )
        assert code == 201, answer

    def pod(self) -> dict[str, Any]:
        return dict(self.site.server.request("GET", f"{PLACE}/pods/{self.name}")[1])

    def keys(self, namespace: str) -> list[str]:
        """What Ray keeps below a storage namespace (its keys are `RAY<namespace>@<table>`)."""
        return self.ask(f"KEYS RAY{namespace}@*")

    def ask(self, command: str) -> list[str]:
        """A command whose answer is a list. https://redis.io/docs/latest/develop/reference/protocol-spec/"""
        with socket.create_connection((self.pod()["status"]["podIP"], 6379), timeout=10) as connection:
            connection.sendall(f"AUTH {PASSWORD}\r\n{command}\r\n".encode())
            lines = connection.makefile("r", newline="\r\n")
            assert lines.readline().strip() == "+OK"
            number = int(lines.readline().removeprefix("*"))
            return [(lines.readline(), lines.readline())[1].strip() for _ in range(number)]

    def stop(self) -> None:
        for plural in ("pods", "services", "secrets"):
            self.site.server.request("DELETE", f"{PLACE}/{plural}/{self.name}")
        eventually(lambda: self.site.server.request("GET", f"{PLACE}/pods/{self.name}")[0] == 404, 60.0, "Redis is gone")
