"""Clusters in a local fleet, with idle processes in the place of Ray: what lives is adopted, what ends leaves nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from rayfleet.local import leftovers
from rayfleet.local.end import end
from rayfleet.local.find import find_holder
from rayfleet.local.identity import Identity, identify
from rayfleet.local.leftovers import command_line
from rayfleet.local.state import State
from tests.local.fleet import CLUSTERS, Fleet, idle_cluster, kill, template
from tests.local.waiting import eventually

pytestmark = pytest.mark.namespaces


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One fleet for the whole file."""
    state = State(tmp_path_factory.mktemp("clusters") / "fleet")
    fleet = Fleet(state)
    try:
        fleet.up_without_ray()
        yield fleet
    finally:
        assert end(state, forget=True).left == ()


@pytest.fixture
def name(fleet: Fleet, request: pytest.FixtureRequest) -> Iterator[str]:
    """A cluster's name; the cluster is deleted after the test."""
    name = f"c{abs(hash(request.node.name)) % 100000}"
    yield name
    fleet.run("delete", "raycluster", name, "--ignore-not-found")


def all_idlers(fleet: Fleet, name: str, number: int) -> set[Identity]:
    """Once there are so many: a container runs before its command does."""
    return eventually(lambda: len(found := idlers(fleet, name)) == number and found, what=f"{number} containers of {name} sleep") or set()


def idlers(fleet: Fleet, name: str) -> set[Identity]:
    """The processes of all containers of a cluster; those of probes come and go."""
    return {process for pod in fleet.pods(name) for process in fleet.of_pod(pod) if command_line(process.pid).startswith("sleep")}


@pytest.fixture(scope="module")
def lasting(fleet: Fleet) -> str:
    """A cluster that lives on, whatever is killed around it."""
    fleet.apply(idle_cluster("lasting", workers=1))
    fleet.ready("lasting", 1)
    return "lasting"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("peer", ["operator", "kubelet", "apiserver", "relay"])
def test_whichever_peer_dies_the_same_pods_and_processes_live_on_and_a_change_is_acted_on(
    fleet: Fleet, lasting: str, peer: str, number: int
) -> None:
    uids = fleet.uids(lasting)
    assert len(uids) >= 2
    processes = all_idlers(fleet, lasting, len(uids))
    before = fleet.processes()[peer]
    kill(before, number)
    eventually(lambda: (now := fleet.processes()[peer])["starts"] > before["starts"] and now["state"] == "alive", 30.0)
    eventually(lambda: fleet.standing(lasting), 30.0, "the API answers")
    fleet.run("scale", f"raycluster/{lasting}", "--replicas", str(len(uids)))  # one worker more than before
    fleet.ready(lasting, len(uids))
    assert uids.items() <= fleet.uids(lasting).items()
    assert processes <= idlers(fleet, lasting)


def test_when_nearly_all_is_killed_at_once_every_command_names_what_heals_it(fleet: Fleet, lasting: str) -> None:
    uids = fleet.uids(lasting)
    processes, before = all_idlers(fleet, lasting, len(uids)), fleet.processes()
    for each in ("door", "kubelet", "operator", "apiserver"):
        kill(before[each], signal.SIGKILL)
    mend = f"rayfleet up --state {fleet.state.path}\n"
    eventually(lambda: fleet.processes()["door"]["state"] == "dead", 10.0)
    for words in (("status",), ("get", "pods"), ("explain", lasting)):
        assert mend in fleet.run(*words, code=1)
    assert mend in fleet.run("doctor")
    fleet.up()
    fleet.ready(lasting, len(uids) - 1)
    assert fleet.uids(lasting) == uids
    assert processes <= idlers(fleet, lasting)


def test_the_only_node_promises_to_be_heard_of(fleet: Fleet) -> None:
    """Without that the lease of an earlier fleet of several nodes ran out, and the node was lost for good."""
    lease = eventually(lambda: fleet.read("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/local"), 30.0, "a lease")
    assert lease["spec"]["leaseDurationSeconds"] == 240


def test_a_cron_job_makes_jobs_and_get_lists_it(fleet: Fleet, name: str) -> None:
    """Its gate is open: a fleet's user starts no operator, and so could not open it."""
    job = {"entrypoint": "true", "clusterSelector": {"ray.io/cluster": "none"}}
    spec = {"schedule": "@every 1s", "jobTemplate": job}
    fleet.apply({"apiVersion": "ray.io/v1", "kind": "RayCronJob", "metadata": {"name": name}, "spec": spec})
    eventually(lambda: f"rayjob.ray.io/{name}-" in fleet.run("get", "-o", "name"), 60.0, "a job is made")
    assert f"raycronjob.ray.io/{name}" in fleet.run("get", "-o", "name")
    fleet.run("delete", "raycronjob", name)
    eventually(lambda: f"rayjob.ray.io/{name}-" not in fleet.run("get", "-o", "name"), 60.0, "its jobs go with it")


def test_one_name_applied_deleted_and_applied_again_twenty_times(fleet: Fleet, name: str) -> None:
    seen: set[str] = set()
    for _ in range(20):
        assert fleet.send("POST", CLUSTERS, idle_cluster(name, workers=1))
        eventually(lambda: len(fleet.pods(name)) == 2, 30.0, "two Pods")
        uids = set(fleet.uids(name).values())
        assert not uids & seen
        seen |= uids
        assert fleet.send("DELETE", f"{CLUSTERS}/{name}")  # its Pods terminate still when the name is applied again
    eventually(lambda: not fleet.children(name), 30.0, "no Pod is left")
    eventually(lambda: not idlers(fleet, name))


def test_a_cluster_deleted_half_started_leaves_nothing(fleet: Fleet, name: str) -> None:
    # Never ready, and deaf to TERM: the worst that can be in the middle of a start.
    deaf = template(command=["bash", "-c", "trap '' TERM; while true; do sleep 1; done"], readinessProbe={"exec": {"command": ["false"]}})
    before, pods = set(fleet.inside()), {path.name for path in (fleet.state.pods / "pods").iterdir()}
    fleet.apply(idle_cluster(name, workers=2, head=deaf))
    eventually(lambda: fleet.pods(name), 20.0, "a Pod")
    fleet.run("delete", "raycluster", name)
    eventually(lambda: not fleet.children(name) and not fleet.children(name, "services"), 30.0, "no child is left")
    eventually(lambda: not {process for process in fleet.inside() if process not in before}, 20.0, "no process is left")
    assert pods <= {path.name for path in (fleet.state.pods / "pods").iterdir()}


@pytest.mark.parametrize("pause", [0.05, 0.3])
@pytest.mark.parametrize("peer", ["kubelet", "operator", "apiserver"])
def test_a_peer_killed_in_the_middle_of_a_start_loses_and_leaks_nothing(fleet: Fleet, name: str, peer: str, pause: float) -> None:
    before, links = set(fleet.inside()), links_inside(fleet)
    assert fleet.send("POST", CLUSTERS, idle_cluster(name, workers=2))
    threading.Event().wait(pause)  # the moment of the kill, not a wait for anything
    kill(fleet.processes()[peer], signal.SIGKILL)
    fleet.ready(name, 2, within=60.0)
    assert len(fleet.children(name)) == 3
    assert fleet.send("DELETE", f"{CLUSTERS}/{name}")
    eventually(lambda: not fleet.children(name), 30.0, "no Pod is left")
    own = {row["pid"] for row in fleet.processes().values()}
    eventually(lambda: not [each for each in fleet.inside() if each not in before and each.pid not in own], 20.0, "no process is left")
    eventually(lambda: links_inside(fleet) == links, 20.0, "no link is left")


def links_inside(fleet: Fleet) -> set[str]:
    """Network links in the fleet's own namespace, as the holder sees them."""
    holder = fleet.processes()["holder"]["pid"]
    return {line.split(":")[0].strip() for line in Path(f"/proc/{holder}/net/dev").read_text().splitlines()[2:]}


def page(port: int) -> str:
    """What a browser on the host sees; "" when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def ports(fleet: Fleet) -> dict[str, int]:
    return dict(json.loads(fleet.state.ports.read_text()))


def test_each_heads_dashboard_and_serve_have_ports_on_the_host_which_stay_when_door_and_head_are_new(fleet: Fleet, name: str) -> None:
    service, serve = f"dashboard/default/{name}-head-svc", f"serve/default/{name}-head-svc"
    serving = template(
        command=[
            "bash",
            "-c",
            "mkdir /tmp/site; cd /tmp/site; hostname > $(hostname); python3 -m http.server 8000 & exec python3 -m http.server 8265",
        ]
    )
    fleet.apply(idle_cluster(name, workers=0, head=serving))
    port = eventually(lambda: ports(fleet).get(service), 20.0)
    (head,) = eventually(lambda: list(fleet.pods(name)), 20.0)
    eventually(lambda: head in page(port), 20.0, "the head's page")
    eventually(lambda: head in page(ports(fleet)[serve]), 20.0, "what Serve has")
    assert f"http://127.0.0.1:{ports(fleet)[serve]}" in fleet.run("status")

    kill(fleet.processes()["door"], signal.SIGKILL)
    eventually(lambda: head not in page(port), 10.0)
    fleet.up()
    eventually(lambda: head in page(ports(fleet)[service]), 20.0, "the head's page, through another door")
    port, before = ports(fleet)[service], port
    assert port == before or page(before)  # a fleet beside this one may have taken it meanwhile

    fleet.run("delete", "pod", head)
    (new,) = eventually(lambda: [pod for pod in fleet.pods(name) if pod != head], 20.0)
    eventually(lambda: new in page(port), 20.0, "the new head's page")

    fleet.run("delete", "raycluster", name)
    eventually(lambda: service not in ports(fleet), 20.0)
    assert new not in page(port)


def test_a_pod_that_cannot_start_is_told_by_up_and_starts_by_itself_when_mended(fleet: Fleet, name: str) -> None:
    secret = {"secretKeyRef": {"name": f"{name}-secret", "key": "word"}}
    lacking = template(env=[{"name": "WORD", "valueFrom": secret}])
    file = fleet.state.path.parent / f"{name}.json"
    file.write_text(json.dumps(idle_cluster(name, workers=0, head=lacking)))
    eventually(lambda: f"{name}-secret" in fleet.run("up", "-f", str(file), "--timeout", "4", code=1), what="what it lacks is told")
    fleet.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-secret"}, "stringData": {"word": "x"}})
    fleet.ready(name, 0)


def test_a_spec_that_is_refused_touches_no_other_cluster_and_recovers_when_mended(fleet: Fleet, name: str) -> None:
    other = f"{name}-other"
    fleet.apply(idle_cluster(other, workers=1))
    fleet.ready(other, 1)
    uids = fleet.uids(other)
    wrong = idle_cluster(name, workers=1)
    wrong["spec"]["workerGroupSpecs"] *= 2  # one group name twice
    file = fleet.state.path.parent / f"{name}.json"
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": f"{name}-job"}, "spec": {"entrypoint": "true"}}
    file.write_text(f"{json.dumps(wrong)}\n---\n{json.dumps(job)}")
    told = fleet.run("up", "-f", str(file), code=1)
    assert "groupName" in told
    assert f"rayjob/{name}-job: refused" in told and "rayClusterSpec" in told
    fleet.run("delete", "rayjob", f"{name}-job")
    assert fleet.pods(name) == {}
    fleet.apply(idle_cluster(name, workers=1))
    fleet.ready(name, 1)
    assert fleet.uids(other) == uids
    fleet.run("delete", "raycluster", other)


def test_what_is_kept_by_down_comes_back_with_the_next_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    fleet = Fleet(State(tmp_path_factory.mktemp("kept") / "fleet"))
    named = fleet.state.path.parent / "local.yaml"
    named.write_text("hostPaths: [/srv]")
    try:
        fleet.up("--config", str(named))
        fleet.apply(idle_cluster("kept", workers=0))
        fleet.ready("kept", 0)
        fleet.run("down")
        file = fleet.state.path.parent / "kept.json"
        file.write_text(json.dumps(idle_cluster("kept", workers=0)))
        assert "unchanged" in fleet.up("-f", str(file))  # ready means now: not what was written before
        assert json.loads(fleet.state.host_paths.read_text()) == ["/srv"]
        (head,) = fleet.pods("kept")
        assert fleet.of_pod(head)
        uids, holder = fleet.uids("kept"), find_holder(fleet.state)
        assert holder
        kill(fleet.processes()["door"], signal.SIGKILL)
        holder.signal(signal.SIGKILL)  # as by a power cut
        assert holder.wait(10.0)
        assert "rayfleet up --state" in fleet.run("get", "pods", code=1)
        fleet.up("-f", str(file))
        assert fleet.of_pod(head)
        assert fleet.uids("kept") == uids
        (container,) = fleet.pods("kept")[head]["status"]["containerStatuses"]
        assert container["restartCount"] == 2
    finally:
        assert end(fleet.state, forget=True).left == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_in_the_foreground_stays_until_it_is_told_and_leaves_nothing(tmp_path_factory: pytest.TempPathFactory, number: int) -> None:
    fleet = Fleet(State(tmp_path_factory.mktemp("foreground") / "fleet"))
    shown = subprocess.Popen(fleet.command("up", "--foreground"), stdout=subprocess.PIPE, text=True)
    try:
        assert shown.stdout
        assert any("Ctrl-C stops the fleet" in line for line in shown.stdout)
        assert any("RayCluster is being looked after" in line for line in shown.stdout)
        shown.send_signal(number)
        assert "The fleet is stopped." in shown.communicate(timeout=300)[0]
        assert shown.returncode == 0
        assert not fleet.state.kubeconfig.exists()
        assert fleet.state.objects.exists()
    finally:
        shown.kill()
        assert end(fleet.state, forget=True).left == ()


def machine() -> dict[str, set[str]]:
    """What a fleet could leave on this machine besides processes, by kind."""
    names = Path("/run/netns")
    return {
        "mounts": {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        "links": leftovers.links(),
        "temporary files": {path.name for path in Path(tempfile.gettempdir()).glob("rayfleet*")},
        "named networks": {path.name for path in names.iterdir()} if names.exists() else set(),
    }


def namespaces_of(processes: Iterable[Identity | None]) -> set[str]:
    found = set()
    for process in processes:
        for kind in ("net", "mnt", "pid", "uts", "ipc"):
            with contextlib.suppress(OSError):
                if process and process.alive:
                    found.add(str(Path(f"/proc/{process.pid}/ns/{kind}").readlink()))
    return found


def test_down_with_living_pods_leaves_no_process_namespace_mount_veth_or_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    fleet = Fleet(State(tmp_path_factory.mktemp("leaks") / "fleet"))
    before = machine()
    try:
        fleet.up()
        fleet.apply(idle_cluster("leaky", workers=0))
        eventually(lambda: fleet.pods("leaky"), 20.0)
        eventually(lambda: fleet.of_pod(next(iter(fleet.pods("leaky")))), 20.0)
        inside, everybody = fleet.inside(), [identify(pid) for pid in leftovers.processes()]
        own = namespaces_of(inside) - namespaces_of([identify(os.getpid())])
        assert len(own) >= 8, "the fleet's and the Pod's"
        assert "nothing is left" in fleet.run("down", "--delete-data")
        assert leftovers.living(inside) == []
        # Numbers of namespaces are given away again, so only processes of before can speak of these.
        assert not own & namespaces_of(everybody)
        after = machine()
        assert {kind: after[kind] - before[kind] for kind in after} == {kind: set() for kind in after}
        assert not fleet.state.path.exists()
    finally:
        end(fleet.state)


def test_two_ups_of_the_same_file_at_once_make_one_fleet_with_its_clusters_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    fleet = Fleet(State(tmp_path_factory.mktemp("twice") / "fleet"))
    file = fleet.state.path.parent / "twice.json"
    file.write_text(json.dumps(idle_cluster("twice", workers=0)))
    try:
        both = [subprocess.Popen(fleet.command("up", "-f", str(file)), stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for each in both:
            assert "twice: ready" in each.communicate(timeout=300)[0]
            assert each.returncode == 0
        assert len(fleet.pods("twice")) == 1
        assert all(row["state"] == "alive" for row in fleet.processes().values())
    finally:
        assert end(fleet.state, forget=True).left == ()
