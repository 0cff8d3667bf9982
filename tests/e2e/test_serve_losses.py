"""Real Ray Serve: an application that is broken, a service that is suspended, and a head that dies under its load.

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
    pytest.mark.parametrize("site", ["laptop"], indirect=True),
]
IN_FLIGHT = 25
"""More requests than that, half a second's, are never under way at one proxy."""


@pytest.fixture(scope="module")
def shop(site: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    shop = Shop(site, tmp_path_factory.mktemp("shop"))
    shop.open()
    yield shop
    shop.close()


def test_an_application_that_cannot_be_imported_tells_the_last_line_of_its_traceback(shop: Shop) -> None:
    shop.edit(serveConfigV2=config(sums="broken:app"))
    eventually(
        lambda: shop.conditions()["Ready"]["status"] == "False" and "shelf" in shop.conditions()["Ready"]["message"], READY, "it is told"
    )
    ready = shop.conditions()["Ready"]
    assert ready["reason"] == "ApplicationsNotRunning"
    assert ready["message"] == "application sums is DEPLOY_FAILED: LookupError: the shelf is empty"


def test_suspended_all_is_gone_and_resumed_it_serves_what_is_asked_for_by_then(shop: Shop) -> None:
    shop.edit(suspend=True)
    eventually(lambda: shop.conditions()["Suspended"]["status"] == "True", GONE, "it is suspended")
    code, services = shop.site.request("GET", "/api/v1/namespaces/default/services?labelSelector=ray.io/originated-from-cr-name=shop")
    assert (code, services["items"], shop.clusters()) == (200, [], [])
    shop.edit(suspend=False, serveConfigV2=config("plum"), rayClusterConfig=shop.kept("2"))
    shop.await_ready()


def test_a_head_dies_under_load_and_only_requests_at_its_own_proxy_are_lost(shop: Shop) -> None:
    cluster = shop.cluster()
    cluster.await_ready(1)
    before, workers = cluster.uids(), cluster.workers()
    load = Load(shop.site).start()
    load.await_answers("plum 2", 50)
    cluster.lose(cluster.head())
    eventually(lambda: [one for one in cluster.of("head") if one["metadata"]["uid"] not in before.values()], GONE, "another head")
    cluster.await_ready(1)
    lost = load.settled().failed()
    eventually(lambda: shop.is_ready() and shop.found()["status"]["numServeEndpoints"] == 2, READY, "both proxies take requests")
    load.await_answers("plum 2", load.told().counts["plum 2"] + 100)
    told = load.settled()
    print(f"{told.ended} requests: {told.counts}")
    assert told.failed() == lost and sum(lost.values()) <= IN_FLIGHT, told
    assert cluster.workers() == workers
    load.stop()
