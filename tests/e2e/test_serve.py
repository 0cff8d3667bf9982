"""Real Ray Serve: two applications, and what becomes of requests while all that is below them changes.

The tests are told in their order; each begins with what the one before has left.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.fleet import GONE, READY, Ground
from tests.e2e.shop import Load, Shop, config
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True),
]


@pytest.fixture(scope="module")
def shop(site: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    shop = Shop(site, tmp_path_factory.mktemp("shop"))
    shop.open()
    yield shop
    shop.close()


@pytest.fixture(scope="module")
def load(shop: Shop) -> Iterator[Load]:
    load = Load(shop.site).start()
    yield load
    load.stop()


def test_two_applications_come_up(shop: Shop) -> None:
    applications = shop.found()["status"]["activeServiceStatus"]["applicationStatuses"]
    assert {name: each["status"] for name, each in applications.items()} == {"fruit": "RUNNING", "sums": "RUNNING"}


def test_a_cluster_is_replaced_under_load_and_no_request_fails(shop: Shop, load: Load) -> None:
    (first,) = shop.clusters()
    load.await_answers("fruit 1", 50)
    shop.edit(rayClusterConfig=shop.head_alone("2"))
    eventually(lambda: first not in shop.clusters() and shop.is_ready(), READY, "the second cluster serves alone")
    load.await_answers("fruit 2", 50)
    assert load.settled().failed() == {}, load.told()


def test_the_operator_is_killed_in_the_middle_of_an_upgrade_and_no_request_fails(shop: Shop, load: Load) -> None:
    (first,) = shop.clusters()
    shop.edit(rayClusterConfig=shop.head_alone("3"))
    eventually(lambda: len(shop.clusters()) == 2, GONE, "there is a second cluster")
    shop.site.kill_operator()
    eventually(lambda: first not in shop.clusters() and shop.is_ready(), READY, "the second cluster serves alone")
    load.await_answers("fruit 3", 50)
    assert load.settled().failed() == {}, load.told()


def test_a_config_changes_in_place_and_no_request_fails(shop: Shop, load: Load) -> None:
    before = shop.clusters()
    shop.edit(serveConfigV2=config("pear"))
    load.await_answers("pear 3", 50)
    shop.await_ready()
    assert shop.clusters() == before
    told = load.settled()
    print(f"{told.ended} requests: {told.counts}")
    assert told.failed() == {}, told
