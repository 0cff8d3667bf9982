"""Real Ray Serve: an application that is broken, and a service that is suspended.

The tests are told in their order; each begins with what the one before has left.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.fleet import GONE, READY, Ground
from tests.e2e.shop import Shop, config
from tests.local.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.ray,
    pytest.mark.namespaces,
    pytest.mark.parametrize("site", ["laptop"], indirect=True),
]


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
