"""What Ray's own autoscaler costs beside a head, and what the operator costs that hosts another such cluster: real Ray on the testbed.

Each cluster has a head and three workers with nothing to do. Counted are the processes' CPU and memory, and the API server's audit log.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.figure import show
from bench.process import cpu_of, memory_of
from tests.e2e.fleet import Cluster
from tests.e2e.servers import Kubernetes, Site
from tests.kubelet.namespaces import own_network
from tests.local.ray import STORE, group, ray_cluster

WORKERS, SETTLED, REST = 3, 30.0, 120.0
SIDECAR = b"kuberay-autoscaler"
BESIDE, HOSTED = "beside", "hosted"


def main() -> None:
    with own_network(), tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        server = Kubernetes(Path(directory))
        site = Site(server)
        try:
            for name, how in ((BESIDE, "sidecar"), (HOSTED, "hosted")):
                make(site, name, how).await_ready(WORKERS)
            time.sleep(SETTLED)
            measure(site, server)
        finally:
            site.close()


def make(site: Site, name: str, how: str) -> Cluster:
    groups = group("small", replicas=WORKERS, minReplicas=WORKERS)
    manifest = ray_cluster(name, groups, head={"rayStartParams": STORE}, enableInTreeAutoscaling=True, autoscalerOptions={"version": "v2"})
    manifest["metadata"]["annotations"] = {"rayfleet.dev/autoscaling": how}
    return Cluster(site, name).create(manifest)


def measure(site: Site, server: Kubernetes) -> None:
    sidecar, operator = sidecars(), [site.operator.pid]
    asked, begun = len(server.plane.asked()), (cpu(sidecar), cpu(operator))
    time.sleep(REST)
    spent = [(now - before) / REST for now, before in zip((cpu(sidecar), cpu(operator)), begun, strict=True)]
    requests = server.plane.asked()[asked:]
    theirs = [each for each in requests if each.user == f"system:serviceaccount:default:{BESIDE}"]
    ours = [each for each in requests if not each.is_standing and each.user not in ("", theirs[0].user if theirs else "")]
    show("Ray's autoscaler for one cluster at rest: CPU", 1000 * spent[0], 0, "mcore")
    show("  resident memory", sum(map(memory_of, sidecar)), 0, "MiB")
    show("  requests of the API server a minute", len(theirs) * 60 / REST, 0, "")
    for kind, count in Counter(f"{each.verb} {each.resource}" for each in theirs).most_common():
        show(f"    {kind}", count * 60 / REST, 0, "")
    show("the operator, which looks after both and hosts one: CPU", 1000 * spent[1], 0, "mcore")
    show("  resident memory", sum(map(memory_of, operator)), 0, "MiB")
    show("  requests of the API server a minute, watches aside", len(ours) * 60 / REST, 0, "")


def sidecars() -> list[int]:
    """The processes of Ray's autoscaler: its command and what that starts."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if SIDECAR in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def cpu(processes: list[int]) -> float:
    return sum(map(cpu_of, processes))


if __name__ == "__main__":
    main()
