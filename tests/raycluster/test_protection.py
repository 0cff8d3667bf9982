"""No Pod before what protects it is there, and no value of a Secret in any plan."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import NETWORKPOLICIES, SECRETS
from rayfleet.api.raycluster import RayCluster
from rayfleet.planning.actions import TO_BE_DRAWN, Create, sent
from rayfleet.planning.backoff import Backoff
from rayfleet.raycluster.plan import plan
from rayfleet.resources import auth, network_policy
from tests.raycluster.vocabulary import NOW, child_of, cluster, created, deleted, group, head, observed

GATES = Configuration(feature_gates={"RayClusterNetworkPolicy": True})
CLOSED = {"networkPolicy": {"mode": "DenyAll"}}
TOKEN = {"authOptions": {"mode": "token"}}
DRAWN = bytes(range(32))


def secret_of(of: RayCluster, **metadata: Any) -> dict[Any, Any]:
    """The Secret as the operator sees it: its metadata."""
    manifest = auth.secret(of)
    return {SECRETS: (child_of({"metadata": {**manifest["metadata"], **metadata}}),)}


def the_secret(of: RayCluster) -> Create:
    (create,) = (action for action in plan(observed(of)).actions if isinstance(action, Create))
    assert create.resource == SECRETS
    return create


def test_pods_wait_until_the_secret_is_seen() -> None:
    of = cluster(group(replicas=1), **TOKEN)
    assert created(plan(observed(of))) == ["demo"]
    assert len(created(plan(observed(of, others=secret_of(of))))) == 2


def test_running_pods_stay_when_the_secret_is_lost_and_it_is_made_again() -> None:
    made = plan(observed(cluster(**TOKEN), head()))
    assert created(made) == ["demo"]
    assert len(made.actions) == 1


def test_somebody_elses_secret_is_never_used() -> None:
    """Who knows the token that he put there before would be let in."""
    of = cluster(group(replicas=1), **TOKEN)
    taken = Backoff("secret/demo", 1, NOW + 5, 'secrets "demo" already exists: it belongs to somebody else', "NameConflict")
    made = plan(observed(of, backoffs=(taken,)))
    assert made.actions == ()
    assert made.status is not None
    (told,) = (each for each in made.status.patch["conditions"] if each["type"] == "ReplicaFailure")
    assert (told["reason"], told["message"]) == ("NameConflict", taken.message)


def test_what_is_in_the_secret_is_drawn_as_it_is_sent_and_stands_in_no_plan() -> None:
    create = the_secret(cluster(**TOKEN))
    token = base64.b64decode(sent(create, lambda count: DRAWN[:count])["data"]["auth_token"]).decode()
    assert base64.b64decode(token) == DRAWN
    assert create.manifest["data"] == {"auth_token": TO_BE_DRAWN}
    assert token not in repr(create)


def test_a_secret_that_is_there_is_left_as_it_is() -> None:
    of = cluster(**TOKEN)
    rotated = secret_of(of, resourceVersion="99", annotations={"rotated": "yes"})
    assert plan(observed(of, head(), others=rotated)).actions == ()


def test_the_secret_outlives_a_change_of_mode() -> None:
    """Containers that still run in token mode need it when they restart; it goes with its cluster."""
    off = cluster(authOptions={"mode": "disabled"})
    assert plan(observed(off, head(), others=secret_of(off))).actions == ()


@pytest.mark.parametrize(
    "options", [{"mode": "token", "secretName": "mine"}, {"mode": "token", "enableK8sTokenAuth": True}, {"mode": "disabled"}, {}, None]
)
def test_no_secret_is_made_where_none_of_ours_is_used(options: dict[str, Any] | None) -> None:
    of = cluster(**({} if options is None else {"authOptions": options}))
    assert SECRETS not in {action.resource for action in plan(observed(of)).actions}
    assert len(created(plan(observed(of)))) == 1


@pytest.mark.parametrize(("version", "expected"), [("2.60.0", True), ("2.51.0", False), ("", False)])
def test_the_configurations_mode_counts_where_the_spec_says_nothing_and_ray_knows_tokens(version: str, expected: bool) -> None:
    config = Configuration(default_auth_mode="token")
    of = cluster(rayVersion=version)
    assert auth.needs_secret(of, config) is expected
    assert auth.is_on(cluster(authOptions={"mode": "disabled"}), config) is False


def policies_of(of: RayCluster) -> dict[Any, Any]:
    return {NETWORKPOLICIES: tuple(child_of(manifest) for manifest in network_policy.policies(of))}


def test_pods_wait_until_every_policy_is_seen() -> None:
    of = cluster(group(replicas=1), **CLOSED)
    assert created(plan(observed(of, config=GATES))) == ["demo-head", "demo-workers-small"]
    one = {NETWORKPOLICIES: policies_of(of)[NETWORKPOLICIES][:1]}
    assert created(plan(observed(of, config=GATES, others=one))) == ["demo-workers-small"]
    assert len(created(plan(observed(of, config=GATES, others=policies_of(of))))) == 2


def test_the_policy_of_a_group_that_is_gone_goes_too() -> None:
    before = policies_of(cluster(group(), group("other"), **CLOSED))
    assert list(deleted(plan(observed(cluster(group(), **CLOSED), config=GATES, others=before)))) == ["demo-workers-other"]
    assert len(deleted(plan(observed(cluster(group()), config=GATES, others=before)))) == 3


def test_a_policy_that_somebody_opened_is_closed_again() -> None:
    of = cluster(**CLOSED)
    (policy,) = network_policy.policies(of)
    opened = {NETWORKPOLICIES: (child_of({**policy, "spec": {**policy["spec"], "ingress": [{}]}}),)}
    (patch,) = (action.patch for action in plan(observed(of, head(), config=GATES, others=opened)).actions)
    assert patch == {"spec": {"ingress": policy["spec"]["ingress"]}}


@pytest.mark.parametrize(("secret", "replaced"), [("2027-01-15T07:00:00Z", False), ("2027-01-15T09:00:00Z", True)])
def test_a_secret_that_is_newer_than_the_head_is_told(secret: str, replaced: bool) -> None:
    of = cluster(**TOKEN)
    made = plan(observed(of, head(created="2027-01-15T08:00:00Z"), others=secret_of(of, creationTimestamp=secret)))
    assert made.actions == ()
    assert made.status is not None
    told = [each for each in made.status.patch["conditions"] if each["type"] == "TokenReplaced"]
    assert bool(told) is replaced


def test_of_a_token_of_the_users_own_nothing_of_the_kind_is_said() -> None:
    of = cluster(authOptions={"mode": "token", "secretName": "mine"})
    newer = secret_of(of, creationTimestamp="2027-01-15T09:00:00Z")
    made = plan(observed(of, head(created="2027-01-15T08:00:00Z"), others=newer))
    assert made.status is not None
    assert "TokenReplaced" not in {each["type"] for each in made.status.patch["conditions"]}
