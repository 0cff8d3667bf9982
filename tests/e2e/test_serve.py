"""Real Ray Serve: two applications, what becomes of requests while all that is below them changes, and an application that is broken.

The tests are told in their order; each begins with what the one before has left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.e2e.fleet import GONE, READY, WHERE_RARE, Ground
from tests.e2e.shop import Load, Shop, config
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces]
on_both = pytest.mark.parametrize("site", ["laptop", "kubernetes"], indirect=True)
where_rare = pytest.mark.parametrize("site", WHERE_RARE, indirect=True)
IN_FLIGHT = 25
"""More requests than that, half a second's, are never under way at one proxy."""
SWIFT = 20.0
"""Seconds. A machine on which another head is ready later than that (7 s where it has nothing else to do) answers probes and requests late
as well: what is lost there says nothing of whose fault that is (31 requests with 40 processes waiting)."""


@pytest.fixture(scope="module")
def shop(site: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    shop = Shop(site, tmp_path_factory.mktemp("shop"))
    try:
        shop.open()
        yield shop
    finally:
        shop.close()


@pytest.fixture(scope="module")
def load(shop: Shop) -> Iterator[Load]:
    load = Load(shop.site)
    try:
        yield load.start()
    finally:
        load.stop()


@on_both
def test_two_applications_come_up(shop: Shop) -> None:
    applications = shop.found()["status"]["activeServiceStatus"]["applicationStatuses"]
    assert {name: each["status"] for name, each in applications.items()} == {"fruit": "RUNNING", "sums": "RUNNING"}


@on_both
def test_a_cluster_is_replaced_under_load_and_no_request_fails(shop: Shop, load: Load) -> None:
    (first,) = shop.clusters()
    load.await_answers("fruit 1", 50)
    shop.edit(rayClusterConfig=shop.head_alone("2"))
    eventually(lambda: first not in shop.clusters() and shop.is_ready(), READY, "the second cluster serves alone")
    load.await_answers("fruit 2", 50)
    assert load.settled().failed() == {}, load.told()


@on_both
def test_the_operator_is_killed_in_the_middle_of_an_upgrade_and_no_request_fails(shop: Shop, load: Load) -> None:
    (first,) = shop.clusters()
    shop.edit(rayClusterConfig=shop.head_alone("3"))
    eventually(lambda: len(shop.clusters()) == 2, GONE, "there is a second cluster")
    shop.site.kill_operator()
    eventually(lambda: first not in shop.clusters() and shop.is_ready(), READY, "the second cluster serves alone")
    load.await_answers("fruit 3", 50)
    assert load.settled().failed() == {}, load.told()


@on_both
def test_a_config_changes_in_place(shop: Shop, load: Load) -> None:
    """What becomes of requests in the meantime is Serve's own business."""
    before = shop.clusters()
    shop.edit(serveConfigV2=config("pear"))
    load.await_answers("pear 3", 50)
    shop.await_ready()
    assert shop.clusters() == before
    print(load.settled())


@where_rare
def test_an_application_that_cannot_be_imported_tells_the_last_line_of_its_traceback(shop: Shop) -> None:
    shop.edit(serveConfigV2=config(sums="broken:app"))
    eventually(
        lambda: shop.conditions()["Ready"]["status"] == "False" and "shelf" in shop.conditions()["Ready"]["message"], READY, "it is told"
    )
    ready = shop.conditions()["Ready"]
    assert ready["reason"] == "ApplicationsNotRunning"
    assert ready["message"] == "application sums is DEPLOY_FAILED: LookupError: the shelf is empty"


@where_rare
def test_suspended_all_is_gone_and_resumed_it_serves_what_is_asked_for_by_then(shop: Shop, load: Load) -> None:
    load.stop()
    shop.edit(suspend=True)
    eventually(lambda: shop.conditions()["Suspended"]["status"] == "True", GONE, "it is suspended")
    code, services = shop.site.request("GET", "/api/v1/namespaces/default/services?labelSelector=ray.io/originated-from-cr-name=shop")
    assert (code, services["items"], shop.clusters()) == (200, [], [])
    shop.edit(suspend=False, serveConfigV2=config("plum"), rayClusterConfig=shop.kept("2"))
    shop.await_ready()


@where_rare
def test_a_head_dies_under_load_and_only_requests_at_its_own_proxy_are_lost(shop: Shop, load: Load) -> None:
    load.stop()
    shop.edit(serveConfigV2=config("plum"), rayClusterConfig=shop.kept("2"))  # as the test before has left it, if that ran
    shop.await_ready()
    cluster = shop.cluster()
    cluster.await_ready(1)
    before, workers = cluster.uids(), cluster.workers()
    load.start()
    load.await_answers("plum 2", 50)
    begun = time.monotonic()
    cluster.lose(cluster.head())
    eventually(lambda: [one for one in cluster.of("head") if one["metadata"]["uid"] not in before.values()], GONE, "another head")
    cluster.await_ready(1)
    took = time.monotonic() - begun
    lost = load.settled().failed()
    eventually(lambda: shop.is_ready() and shop.found()["status"]["numServeEndpoints"] == 2, READY, "both proxies take requests")
    load.await_answers("plum 2", load.told().counts["plum 2"] + 100)
    told = load.settled()
    print(f"{told.ended} requests: {told.counts}, {told.late:.2f} s late; another head after {took:.1f} s")
    assert cluster.workers() == workers
    if took > SWIFT:
        return
    said = f"{told}\n{shop.warnings()}\n{shop.site.told()}"
    assert sum(told.failed().values()) <= IN_FLIGHT, said
    assert {word for word, times in told.failed().items() if times > lost.get(word, 0)} <= {"failed: TimeoutError"}, said
