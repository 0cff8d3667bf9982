"""A Ray that takes jobs, and lies when it is told to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from rayfleet.ray.answer import Act, Question, Unreachable, read, taken


@dataclass
class FakeRay:
    """One head. `session` names its life; `runs` are all jobs that ever began, in any life. `lie` answers in its place: (status, body),
    None for no answer. `hidden`: jobs that it has, and does not show. `takes_late`: a submission is taken, but its answer is lost."""

    session: str = "session_1"
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    alive: bool = True
    lie: tuple[int, bytes] | None = None
    takes_late: bool = False
    hidden: dict[str, dict[str, Any]] = field(default_factory=dict)

    def ask(self, call: Question | Act) -> Any:
        """The answer as the pool would give it."""
        try:
            answer = self.answer(call)
        except OSError as error:
            return Unreachable(str(error))
        return read(call, *answer) if isinstance(call, Question) else taken(call, *answer)

    def answer(self, call: Question | Act) -> tuple[int, bytes]:
        """Status and body. Raises OSError."""
        self.calls.append(call.path if isinstance(call, Question) else f"{call.method} {call.path}")
        if not self.alive:
            raise OSError("nobody is there")
        if self.lie is not None:
            return self.lie
        if isinstance(call, Question):
            return self.get(call.path)
        answer = self.post(call)
        if self.takes_late and call.path == "/api/jobs/":
            raise TimeoutError("timed out")
        return answer

    def get(self, path: str) -> tuple[int, bytes]:
        if path == "/api/version":
            return 200, msgspec.json.encode({"ray_version": "2.60.0", "session_name": self.session})
        found = self.jobs.get(path.rpartition("/")[2])
        return (200, msgspec.json.encode(found)) if found else (404, b"Job not found")

    def post(self, act: Act) -> tuple[int, bytes]:
        if act.path.endswith("/stop"):
            job = self.jobs.get(act.path.split("/")[3])
            if job is None:
                return 404, b""
            if job["status"] in ("PENDING", "RUNNING"):
                job.update(status="STOPPED", message="Job was intentionally stopped.")
            return 200, b'{"stopped":true}'
        return self.submit(msgspec.json.decode(act.body))

    def submit(self, body: dict[str, Any]) -> tuple[int, bytes]:
        name = body["submission_id"]
        if name in self.jobs or name in self.hidden:
            return 500, f"ValueError: Job with submission_id {name} already exists".encode()
        self.bodies.append(body)
        self.runs.append(name)
        self.jobs[name] = {"status": "PENDING", "submission_id": name, "message": "is to start", "start_time": 1_800_000_000_000}
        return 200, msgspec.json.encode({"submission_id": name})

    def turn(self, status: str, message: str = "") -> None:
        """All jobs that have not ended become this."""
        for job in self.jobs.values():
            if job["status"] in ("PENDING", "RUNNING"):
                job.update(status=status, message=message or f"the job is {status}")

    def begin_anew(self) -> None:
        """The head dies; what comes after it knows nothing."""
        self.session = f"session_{int(self.session.rpartition('_')[2]) + 1}"
        self.jobs.clear()
