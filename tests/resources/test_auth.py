"""Which containers are told what of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.raycluster.vocabulary import cluster, group, template
from tests.resources.test_pods import env_of, head_of, worker_of


def containers(**spec: Any) -> list[dict[str, Any]]:
    """Every container that runs a program of Ray's."""
    of = cluster(group(), enableInTreeAutoscaling=True, **spec)
    head, worker = head_of(of)["spec"], worker_of(of)["spec"]
    return [*head["containers"], *worker["containers"], *worker["initContainers"]]


def test_every_container_of_ray_knows_its_mode() -> None:
    assert [env_of(each)["RAY_AUTH_MODE"] for each in containers()] == ["disabled"] * 4
    assert [env_of(each)["RAY_AUTH_MODE"] for each in containers(authOptions={"mode": "token"})] == ["token"] * 4


def test_the_token_comes_from_the_secret_of_the_cluster_or_from_the_one_that_is_named() -> None:
    for name, options in (("demo", {}), ("mine", {"secretName": "mine"})):
        for each in containers(authOptions={"mode": "token", **options}):
            (found,) = (variable for variable in each["env"] if variable["name"] == "RAY_AUTH_TOKEN")
            assert found == {"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": {"name": name, "key": "auth_token"}}}


@pytest.mark.parametrize("given", [{"name": "RAY_AUTH_MODE", "value": "disabled"}, {"name": "RAY_AUTH_TOKEN", "value": "known"}])
def test_the_template_cannot_switch_off_what_the_spec_asks_for(given: dict[str, str]) -> None:
    of = cluster(authOptions={"mode": "token"}, headGroupSpec={"template": template(env=[given])})
    found = [variable for variable in head_of(of)["spec"]["containers"][0]["env"] if variable["name"] == given["name"]]
    assert len(found) == 1
    assert found[0] != given


@pytest.mark.parametrize("given", [{"env": [{"name": "RAY_AUTH_MODE", "value": "token"}]}, {"envFrom": [{"secretRef": {"name": "own"}}]}])
def test_without_the_option_the_template_may_set_the_mode_itself(given: dict[str, Any]) -> None:
    ray = head_of(cluster(headGroupSpec={"template": template(**given)}))["spec"]["containers"][0]
    assert "disabled" not in [variable.get("value") for variable in ray["env"] if variable["name"] == "RAY_AUTH_MODE"]
