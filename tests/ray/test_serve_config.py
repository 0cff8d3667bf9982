"""What a Serve config says, and what is wrong with it."""

from __future__ import annotations

import pytest

from rayfleet.ray.serve_config import ServeConfig, read_config

GOOD = "applications:\n- name: a\n  import_path: m:app\n  route_prefix: /a\n- name: b\n  import_path: m:app\n  route_prefix: /b\n"


def test_a_good_one_is_what_ray_is_sent_whatever_way_it_is_written() -> None:
    found = read_config(GOOD)
    one, other = (f'{{"route_prefix": "/{name}", "import_path": "m:app", "name": "{name}"}}' for name in "ab")
    same = read_config(f'{{"applications": [{one}, {other}]}}')
    assert isinstance(found, ServeConfig) and isinstance(same, ServeConfig)
    assert found.hash == same.hash and list(found.applications) == ["a", "b"]
    changed = read_config(GOOD + "proxy_location: HeadOnly\n")
    assert isinstance(changed, ServeConfig) and changed.hash != found.hash and changed.proxy_location == "HeadOnly"


def test_nothing_is_nothing_to_deploy() -> None:
    found = read_config("")
    assert isinstance(found, ServeConfig) and found.document == {} and found.applications == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("applications: [", ["spec.serveConfigV2: is no YAML: line "]),
        ("- a", ["spec.serveConfigV2: is a list; it must be a mapping"]),
        ("hello", ["spec.serveConfigV2: is a text"]),
        ("http_options: {}", ["spec.serveConfigV2.applications: is missing"]),
        ("applications: {}", ["spec.serveConfigV2.applications: is a mapping"]),
        ("applications: [3]", ["spec.serveConfigV2.applications[0]: is a number"]),
        ("applications: [{name: a}]", ["spec.serveConfigV2.applications[0].import_path: is missing"]),
        ("applications: [{import_path: app}]", ['spec.serveConfigV2.applications[0].import_path: "app" names no application']),
        ("applications: [{import_path: m:a, route_prefix: x}]", ['spec.serveConfigV2.applications[0].route_prefix: "x" is no route']),
        ("a: 1\na: 2", ["spec.serveConfigV2: is no YAML: line 2: the key 'a' is given twice"]),
        ("applications: [{import_path: m:a, x: .nan}]", ["spec.serveConfigV2: cannot be sent as JSON"]),
        (
            "applications:\n- {name: a, import_path: m:a}\n- {name: a, import_path: m:b}\n- {}\n",
            ["applications[1].name", "applications[1].route_prefix", "applications[2].import_path", "applications[2].route_prefix"],
        ),
    ],
)
def test_all_faults_at_once_each_with_its_path(text: str, told: list[str]) -> None:
    found = read_config(text)
    assert not isinstance(found, ServeConfig)
    for part in told:
        assert any(part in str(fault) for fault in found), [str(fault) for fault in found]
    assert len(found) == len(told)
