from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.build import binary
from tests.e2e.fleet import GONE, Cluster, Ground
from tests.e2e.laptop import Laptop
from tests.e2e.servers import SERVERS, Site
from tests.kubelet.namespaces import NOTHING, own_network, refusal, remains
from tests.local.waiting import eventually


@pytest.fixture(scope="package", params=SERVERS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One for all tests of this directory, on each of the two servers; `laptop`, for who asks for it, is what `rayfleet up` makes."""
    if why := refusal():
        pytest.skip(f"namespaces are refused here: {why}")
    if request.param == "laptop":
        yield Laptop(request.getfixturevalue("ray_fleet"))
        return
    if request.param == "kubernetes" and not binary().exists():
        pytest.skip("the Kubernetes control plane is not built; build it with: make testbed")
    with own_network():
        site = Site(SERVERS[request.param](tmp_path_factory.mktemp(request.param)))
        try:
            yield site
            eventually(lambda: not list((site.server.pods / "pods").iterdir()), GONE, "no Pod is left")
        finally:
            site.close()
        assert remains(site.server.pods) == NOTHING


@pytest.fixture(scope="package")
def real(site: Ground) -> Iterator[Cluster]:
    """The cluster on which most is tried: a head and two workers."""
    cluster = Cluster(site, "real").make(2)
    cluster.await_ready(2)
    yield cluster
    site.request("DELETE", f"{cluster.path}/{cluster.name}")
