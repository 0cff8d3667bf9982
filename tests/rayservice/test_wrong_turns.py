"""What storms of the real controllers have found with services: edits that are taken back, and times that a wrong clock wrote."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayfleet.api import labels
from rayfleet.planning.clock import rfc3339
from rayfleet.ray.answer import Heard
from rayfleet.ray.documents import read_document
from rayfleet.ray.serve_config import read_config
from rayfleet.sim.service_life import Story, serving
from rayfleet.sim.service_specs import CONFIG, cluster_spec
from tests.rayservice.step_by_step import begun, live, spec, until

MORE = CONFIG + "  deployments: [{name: D, num_replicas: 2}]\n"
YEAR = 365 * 86400.0


def deployments(story: Story) -> list[object]:
    """Of what was sent last."""
    return [each.get("deployments") for each in story.puts[-1][1]["applications"]]


@pytest.mark.parametrize("dies", [False, True])
def test_an_edit_that_is_taken_back_at_once_is_undone_at_ray(dies: bool) -> None:
    """What Ray was given in between has all that is wanted, and more: it does not report that as a difference."""
    story, name = serving()
    story.edit(serveConfigV2=MORE)
    story.settle()
    assert deployments(story) == [None, [{"name": "D", "num_replicas": 2}]]
    story.edit(serveConfigV2=CONFIG)
    if dies:
        story.results.clear()
    story.say(name, dict.fromkeys(("fruit", "sums"), "RUNNING"))
    story.settle()
    assert deployments(story) == [None, None]


def test_what_somebody_else_told_ray_is_undone_though_it_holds_all_that_is_wanted() -> None:
    """Another operator's call, sent before the edit and taken after ours (services storm 20987): the hash says that all is well."""
    story, name = serving()
    story.puts.append((name, msgspec.convert(read_document(MORE), dict[str, Any])))
    story.say(name, dict.fromkeys(("fruit", "sums"), "RUNNING"))
    story.results.clear()
    story.settle()
    assert deployments(story) == [None, None]
    assert story.clusters[name]["metadata"]["annotations"][labels.SERVE_CONFIG] == read_config(CONFIG).hash  # type: ignore[union-attr]


def say_more(story: Story, name: str, **fields: Any) -> None:
    """What was told last runs, and Ray writes these fields to every application besides."""
    story.say(name, dict.fromkeys(("fruit", "sums"), "RUNNING"))
    heard = story.says[name]
    more = {
        app: msgspec.structs.replace(found, deployed_app_config={**found.deployed_app_config, **fields})
        for app, found in heard.answer.applications.items()
    }
    story.says[name] = Heard(msgspec.structs.replace(heard.answer, applications=more), heard.at, heard.since)


def test_a_ray_that_says_more_than_it_was_told_is_told_again_now_and_then_only() -> None:
    story, name = serving()
    before = len(story.puts)
    for _ in range(100):
        story.wait(3.0)
        say_more(story, name, new=1)
        story.settle()
    assert len(story.puts) - before <= 2
    assert story.condition("Ready")[0] == "True"


def test_what_is_said_of_all_applications_may_be_reported_of_each() -> None:
    """Ray writes a config's logging_config to every application that has none of its own."""
    story, name = serving(serveConfigV2=CONFIG + "logging_config: {log_level: DEBUG}\n")
    before = len(story.puts)
    story.results.clear()
    say_more(story, name, logging_config={"log_level": "DEBUG"})
    story.settle()
    assert len(story.puts) == before


def test_a_cluster_that_a_wrong_clock_marked_goes_after_its_delay() -> None:
    story, first = serving(rayClusterDeletionDelaySeconds=20)
    story.edit(rayClusterConfig=cluster_spec(env="2"))
    story.settle()
    second = next(name for name in story.names if name != first)
    story.serve(second)
    marks = story.clusters[first]["metadata"]["annotations"]
    marks[labels.UNUSED_SINCE] = rfc3339(story.now + YEAR)
    story.settle()
    assert story.clusters[first]["metadata"]["annotations"][labels.UNUSED_SINCE] == rfc3339(story.now)
    story.wait(25.0)
    story.settle()
    assert story.names == [second]


@pytest.mark.parametrize("dies", [False, True])
def test_a_new_config_with_a_third_spec_reaches_neither_cluster_of_an_upgrade(dies: bool) -> None:
    """Both give and take replicas with what they run, also where the operator has only just begun: B6, 94 and 95 (k#4189, k#4717)."""
    story, first, second = begun()
    until(story, second, 50)
    live(story, 3)
    told = len(story.puts)
    story.edit(rayClusterConfig=spec(env="3"), serveConfigV2=CONFIG.replace("shop.sums:app", "shop.sums:other"))
    for _ in range(200):
        if dies:
            story.results.clear()
        live(story, 1)
        if third := set(story.names) - {first, second}:
            break
    paths = {(name, body["applications"][1]["import_path"]) for name, body in story.puts[told:]}
    assert third and paths == {(first, "shop.sums:app"), (second, "shop.sums:app")}
    story.serve(*third)
    assert story.puts[-1][0] in third and story.puts[-1][1]["applications"][1]["import_path"] == "shop.sums:other"
