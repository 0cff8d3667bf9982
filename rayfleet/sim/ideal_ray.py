"""The Ray of the offline host: one that is absent, and one that takes whatever it is told and runs it at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from rayfleet.api.meta import Key
from rayfleet.ray import jobs, serve
from rayfleet.ray.answer import Accepted, Act, Heard, NotFound, Question, Target
from rayfleet.ray.serve_config import ServeConfig

JOB_PATH = "/api/jobs/"
Targets = Iterable[tuple[Target, Iterable[Question]]]


class Asked(NamedTuple):
    """What Ray on a cluster would be asked, without changing anything."""

    cluster: Key
    what: str


class AbsentRay:
    """A desk at which nobody answers; it notes what would be asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def follow_all(self, key: Key, targets: Targets) -> Mapping[Key, Mapping[Question, Heard]]:
        return {target.cluster: self.follow(key, target, questions) for target, questions in targets}

    def follow(self, key: Key, target: Target, questions: Iterable[Question]) -> Mapping[Question, Heard]:
        self.asked += [Asked(target.cluster, f"GET {question.path}") for question in questions]
        return {}

    def last(self, key: Key, cluster: Key) -> Mapping[Question, Heard]:
        return {}

    def results(self, key: Key, cluster: Key) -> Mapping[Act, Heard]:
        return {}

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""


@dataclass
class IdealRay:
    """`configs` are the Serve configs that clusters have, `jobs` the states of submissions, `addresses` those of each cluster's Pods;
    `sessions` are the lives of Ray in which submissions were begun before."""

    now: float
    configs: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    sessions: dict[Key, str] = field(default_factory=dict)
    addresses: dict[Key, Sequence[str]] = field(default_factory=dict)
    done: dict[Key, dict[Act, Heard]] = field(default_factory=dict)

    def follow_all(self, key: Key, targets: Targets) -> Mapping[Key, Mapping[Question, Heard]]:
        return {target.cluster: self.follow(key, target, questions) for target, questions in targets}

    def follow(self, key: Key, target: Target, questions: Iterable[Question]) -> Mapping[Question, Heard]:
        return {question: Heard(self.answer(target.cluster, question), self.now, self.now) for question in questions}

    def last(self, key: Key, cluster: Key) -> Mapping[Question, Heard]:
        return {serve.details(): Heard(self.details(cluster), self.now, self.now)}

    def results(self, key: Key, cluster: Key) -> Mapping[Act, Heard]:
        return self.done.get(cluster, {})

    def forget(self, key: Key) -> None:
        """What it runs it goes on running."""

    def take(self, target: Target, act: Act) -> None:
        """An act is carried out, a moment before the next answer."""
        if act.path == serve.PATH:
            self.configs[target.cluster] = msgspec.json.decode(act.body)
        elif act.path.endswith("/stop"):
            self.jobs[unquote(act.path.removeprefix(JOB_PATH).removesuffix("/stop"))] = "STOPPED"
        elif act.path == JOB_PATH:
            self.jobs[msgspec.json.decode(act.body)["submission_id"]] = "RUNNING"
        self.done.setdefault(target.cluster, {})[act] = Heard(Accepted(), self.now - 1, self.now - 1)

    def answer(self, cluster: Key, question: Question) -> Any:
        if question.path == serve.HEALTH:
            return b"success"
        if question == serve.details():
            return self.details(cluster)
        if question == jobs.VERSION:
            return jobs.Version("", self.sessions.get(cluster, ""))
        name = unquote(question.path.removeprefix(JOB_PATH))
        return jobs.JobInfo(self.jobs[name], submission_id=name) if name in self.jobs else NotFound()

    def details(self, cluster: Key) -> serve.Details:
        config = self.configs.get(cluster, {})
        return serve.Details(
            applications={name: running(each) for name, each in ServeConfig(config, "").applications.items()},
            proxies={address: serve.Proxy("HEALTHY", address) for address in self.addresses.get(cluster, ())},
            target_capacity=config.get("target_capacity"),
        )


def running(config: Mapping[str, Any]) -> serve.Application:
    return serve.Application("RUNNING", deployed_app_config=dict(config))
