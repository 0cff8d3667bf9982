"""A local fleet as its user has it, asked through its door."""

from __future__ import annotations

import signal
from typing import Any

from tests.local.fleet import Fleet, kill


class Laptop:
    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.request, self.command = fleet, fleet.request, fleet.command

    def dashboard(self, cluster: dict[str, Any]) -> str:
        """On this machine, where the door has it."""
        return self.fleet.dashboard(cluster["status"]["head"]["serviceName"], cluster["metadata"]["namespace"])

    def kill_operator(self) -> None:
        """Whoever holds the fleet starts it anew."""
        kill(self.fleet.processes()["operator"], signal.SIGKILL)

    def told(self) -> str:
        return self.fleet.run("status")
