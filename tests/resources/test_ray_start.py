"""The start command is data until it is one quoted line."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayfleet.resources.ray_start import command_line, head_params, quoted, worker_params

LITERAL = st.text(st.characters(blacklist_characters="\0\n\r", blacklist_categories=("Cs",)), min_size=1)


def is_wrapped_or_names_a_variable(value: str) -> bool:
    text = value.strip()
    wrapped = len(text) >= 2 and text[0] == text[-1] and text[0] in "'\""
    return wrapped or "$" in value


@given(LITERAL.filter(lambda value: not is_wrapped_or_names_a_variable(value)))
def test_a_literal_value_reaches_ray_as_one_unchanged_word(value: str) -> None:
    assert shlex.split(quoted(value)) == [value]


@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,12}[a-z]", fullmatch=True), LITERAL))
def test_no_value_adds_a_word_to_the_line(params: dict[str, str]) -> None:
    kept = {name: value for name, value in params.items() if not is_wrapped_or_names_a_variable(value)}
    words = shlex.split(command_line(kept, head=False))
    assert len(words) <= 2 + len(kept)


@pytest.mark.parametrize("hostile", ["1; touch /tmp/x", "$(id)", "`id`", "a && b", "$'\\x3b'", "x\ny", "$((1+1))"])
def test_what_a_shell_would_run_stays_text(hostile: str) -> None:
    assert shlex.split(quoted(hostile)) == [hostile]


@pytest.mark.parametrize(
    "form", ['{"NPU": 1}', "'{\"NPU\": 1}'", '"{\\"NPU\\": 1}"', '\'"{\\"NPU\\": 1}"\''[1:-1]], ids=["plain", "single", "double", "escaped"]
)
def test_every_way_to_quote_resources_arrives_as_the_same_json(form: str) -> None:
    line = command_line(worker_params({"resources": form}, "head:6379", {}, {}, {}), head=False)
    (flag,) = [word for word in shlex.split(line) if word.startswith("--resources=")]
    assert json.loads(flag.removeprefix("--resources=")) == {"NPU": 1}


def test_a_variable_is_looked_up_but_not_split() -> None:
    assert quoted("$MY_POD_IP") == '"$MY_POD_IP"'
    assert quoted('${A} "b" `c` $(d)') == '"${A} \\"b\\" \\`c\\` \\$(d)"'


def test_true_is_a_bare_flag_and_false_is_left_out_unless_ray_means_true() -> None:
    line = command_line({"block": "true", "no-monitor": "false", "include-dashboard": "false", "log-color": "true"}, head=True)
    assert line == "ray start --head --block --include-dashboard=false --log-color=true"


def test_the_containers_resources_become_rays_unless_the_user_said_otherwise() -> None:
    limits = {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": "2"}
    params = head_params({"num-gpus": "0"}, {"limits": limits}, {}, {})
    assert (params["num-cpus"], params["memory"], params["num-gpus"]) == ("2", "2147483648", "0")


def test_a_groups_resources_map_goes_to_flags_and_the_rest_to_resources() -> None:
    params = worker_params({}, "head:6379", {}, {"CPU": "3", "memory": "1Gi", "disk": "2"}, {"zone": "b", "a": "1"})
    assert (params["num-cpus"], params["memory"], params["resources"]) == ("3", "1073741824", '{"disk":2}')
    assert params["labels"] == "a=1,zone=b"


def test_accelerators_join_the_users_own_resources() -> None:
    params = worker_params({"resources": '{"disk": 1}'}, "h:1", {"limits": {"aws.amazon.com/neuroncore": "4"}}, {}, {})
    assert json.loads(params["resources"]) == {"disk": 1, "neuron_cores": 4}


def test_resources_that_only_the_shell_knows_stay_as_they_are() -> None:
    limits = {"limits": {"google.com/tpu": "4", "nvidia.com/gpu": "1"}}
    params = worker_params({"resources": "$MINE"}, "h:1", limits, {}, {})
    assert (params["resources"], params["num-gpus"]) == ("$MINE", "1")


def test_nothing_is_told_of_a_limit_of_none() -> None:
    params = head_params({}, {"limits": {"cpu": "0", "memory": "0"}, "requests": {"cpu": "1500m"}}, {}, {})
    assert (params["num-cpus"], "memory" in params) == ("2", False)


def test_one_accelerator_is_enough() -> None:
    """Where the user names one, in whatever way, none is added."""
    limits = {"limits": {"aws.amazon.com/neuroncore": "4"}}
    kept = worker_params({"resources": '{"TPU": 8}'}, "h:1", limits, {}, {})
    assert kept["resources"] == '{"TPU": 8}'
    mapped = worker_params({}, "h:1", limits, {"TPU": "8"}, {})
    assert json.loads(mapped["resources"]) == {"TPU": 8}
