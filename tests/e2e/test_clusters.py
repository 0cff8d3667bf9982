"""A RayCluster with real Ray: it works, grows, shrinks, loses what it has and gets it back, and leaves nothing.

The tests are told in their order; each begins with what the one before has left.
"""

from __future__ import annotations

import pytest

from tests.e2e.fleet import GONE, READY, Cluster
from tests.e2e.servers import Site
from tests.local.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.ray, pytest.mark.namespaces]


def test_a_job_runs_on_the_head_and_both_workers(real: Cluster) -> None:
    assert len(real.names()) == 3
    real.await_work_on_all()


def test_it_grows_and_shrinks_and_what_stays_is_not_disturbed(real: Cluster) -> None:
    before = real.uids()
    real.scale(3)
    real.await_ready(3)
    grown = real.uids()
    assert before.items() < grown.items()
    real.scale(1)
    real.await_ready(1)
    assert real.uids().items() < grown.items()


def test_a_killed_operator_disturbs_nobody_and_the_next_one_goes_on(site: Site, real: Cluster) -> None:
    before = real.uids()
    site.operator.kill()
    real.scale(2)
    real.await_work_on_all()  # Ray needs no operator
    assert real.uids() == before
    site.start_operator()
    real.await_ready(2)
    assert before.items() < real.uids().items()


def test_a_lost_worker_is_replaced_under_another_name(real: Cluster) -> None:
    head, before = real.head(), real.workers()
    victim = min(before)
    real.lose(victim)
    eventually(lambda: victim not in real.names(), GONE, "the lost worker is gone")
    real.await_ready(2)
    assert real.workers() > before - {victim}
    assert real.head() == head


def test_a_lost_head_comes_back_under_another_name_and_works(real: Cluster) -> None:
    """Its workers give themselves up sooner or later, and are replaced: without a store of its own, Ray's new head knows none of them."""
    victim, workers = real.head(), real.workers()
    real.lose(victim)
    eventually(lambda: [one for one in real.of("head") if one["metadata"]["name"] != victim], GONE, "another head")
    eventually(lambda: not workers & real.workers(), READY, "other workers")
    real.await_ready(2)
    real.await_work_on_all()


def test_a_namesake_in_another_namespace_is_another_cluster(site: Site, real: Cluster) -> None:
    code, answer = site.server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    assert code == 201, answer
    before = real.uids()
    namesake = Cluster(site, "real", "elsewhere").make(1)
    namesake.await_ready(1)
    assert not namesake.names() & real.names()
    namesake.await_work_on_all()
    namesake.delete()
    namesake.await_nothing()
    assert real.uids() == before


def test_a_deleted_cluster_leaves_nothing_and_its_name_is_free(real: Cluster) -> None:
    before = set(real.uids().values())
    real.delete()
    real.await_nothing()
    real.make(1).await_ready(1)
    assert not before & set(real.uids().values())
    real.delete()
    real.await_nothing()
