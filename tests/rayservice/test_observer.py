"""Whom the observer asks, and what."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import PODS, RAYCLUSTERS, RAYSERVICES, Key, Resource
from rayfleet.ray import serve
from rayfleet.ray.answer import Heard, Question, Target
from rayfleet.rayservice.observe import Observer
from rayfleet.sim.service_life import Story, serving

SHOP = Key("default", "shop")


class Cache:
    """What a story has, as the runtime's caches show it."""

    def __init__(self, story: Story) -> None:
        observed = story.observed()
        self.service = observed.service
        self.clusters = [member.cluster for member in observed.members]
        self.pods = {member.cluster.metadata.uid: member.pods for member in observed.members}

    def get(self, resource: Resource, key: Key) -> Any:
        return self.service if resource == RAYSERVICES else None

    def owned(self, resource: Resource, uid: str) -> Any:
        return self.clusters if resource == RAYCLUSTERS else self.pods.get(uid, ()) if resource == PODS else ()

    def backoffs(self, key: Key) -> Any:
        return {}

    def unseen(self, resource: Resource) -> bool:
        return False


class Asked:
    """Stands for the way to Ray, and keeps what is asked."""

    def __init__(self, said: Mapping[Question, Heard]) -> None:
        self.said = said
        self.questions: dict[str, list[Question]] = {}

    def follow_all(self, key: Key, targets: Iterable[tuple[Target, Iterable[Question]]]) -> Mapping[Key, Mapping[Question, Heard]]:
        self.questions = {target.cluster.name: list(questions) for target, questions in targets}
        return {}

    def last(self, key: Key, cluster: Key) -> Mapping[Question, Heard]:
        return self.said

    def results(self, key: Key, cluster: Key) -> Mapping[Any, Heard]:
        return {}


def asked(story: Story, said: serve.Details | None = None) -> dict[str, list[Question]]:
    desk = Asked({serve.details(): Heard(said, 0.0, 0.0)} if said else {})
    asyncio.run(Observer(Configuration(), desk)(Cache(story), SHOP, story.now))  # type: ignore[arg-type]
    return desk.questions


@pytest.mark.parametrize("leaves", ["suspended", "deleted", "its cluster is deleted"])
def test_what_is_to_go_is_asked_nothing(leaves: str) -> None:
    story, name = serving()
    assert asked(story).keys() == {name}
    if leaves == "suspended":
        story.edit(suspend=True)
    elif leaves == "deleted":
        story.change_service({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    else:
        story.clusters[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert asked(story) == {}


@pytest.mark.parametrize(
    ("label", "proxies", "health_too"),
    [
        ("true", {"n": serve.Proxy("HEALTHY", "10.0.0.1")}, False),
        ("true", {"n": serve.Proxy("UNHEALTHY", "10.0.0.1")}, True),
        ("false", {"n": serve.Proxy("HEALTHY", "10.0.0.1")}, True),
        ("true", {"n": serve.Proxy("HEALTHY", "10.0.0.2")}, True),
        ("true", {}, True),
    ],
)
def test_the_proxy_on_the_head_is_asked_itself_unless_serve_says_that_it_is_well(
    label: str, proxies: dict[str, serve.Proxy], health_too: bool
) -> None:
    story, name = serving()
    story.pods[f"{name}-head-0"]["metadata"]["labels"][labels.SERVE] = label
    questions = asked(story, serve.Details(proxies=proxies))[name]
    assert questions == [serve.details(), *([serve.health(8000, label)] if health_too else [])]


def test_a_proxy_that_is_to_get_no_requests_is_not_asked() -> None:
    story, name = serving()
    story.edit(excludeHeadPodFromServeSvc=True)
    story.settle()
    assert asked(story) == {name: [serve.details()]}
