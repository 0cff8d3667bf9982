"""A service that upgrades step by step, and the time that goes by."""

from __future__ import annotations

from typing import Any, TypeVar

from rayfleet.sim.service_life import Story
from rayfleet.sim.service_specs import cluster_spec, incremental

RUNNING = {"fruit": "RUNNING", "sums": "RUNNING"}
S = TypeVar("S", bound=Story)


def spec(**fields: Any) -> dict[str, Any]:
    return cluster_spec(enableInTreeAutoscaling=True, **fields)


def begin(story: S) -> tuple[S, str]:
    """Its first cluster serves."""
    story.settle()
    (first,) = story.names
    story.serve(first)
    live(story, 3)
    return story, first


def stepwise(**given: Any) -> Story:
    return Story(**{"rayClusterConfig": spec(), "upgradeStrategy": incremental(), **given})


def second_of(story: Story, first: str, rev: str = "2") -> str:
    """The cluster for another spec, which serves and has no traffic yet."""
    story.edit(rayClusterConfig=spec(env=rev))
    story.settle()
    (second,) = [name for name in story.names if name != first]
    story.serve(second)
    return second


def begun(**given: Any) -> tuple[Story, str, str]:
    story, first = begin(stepwise(**given))
    return story, first, second_of(story, first)


def live(story: Story, seconds: int, but: str = "") -> list[dict[str, int]]:
    """Time goes by, and all is well, but with one cluster, which says what it said. The weights, whenever they changed."""
    seen = [story.weights]
    for _ in range(seconds):
        for name in story.names:
            if name in story.says and name != but:
                story.say(name, RUNNING)
                story.wait(-1.0)
        story.accept()
        story.settle()
        if story.weights != seen[-1]:
            seen.append(story.weights)
        story.wait(1.0)
    return seen[1:]


def until(story: Story, name: str, weight: int) -> None:
    """Until that cluster has so much of the traffic."""
    for _ in range(200):
        if story.weights.get(name) == weight:
            return
        live(story, 1)
    raise AssertionError(f"{name} never had {weight} %: {story.weights}")


def capacities(story: Story, since: int = 0) -> list[tuple[str, int]]:
    """What the clusters were told, in order."""
    return [(name, body["target_capacity"]) for name, body in story.puts[since:]]
