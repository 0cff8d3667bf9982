"""The kubelet joined to a real control plane, as its users see it: by the real kubectl."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from testbed.build import binary
from tests.kubelet.joined import NODE, Joined
from tests.kubelet.namespaces import NOTHING, own_network, remains
from tests.kubelet.world import FOR_EVER, pod
from tests.local.fleet import idle_cluster
from tests.local.session import session
from tests.local.waiting import eventually

pytestmark = [pytest.mark.testbed, pytest.mark.namespaces]


@pytest.fixture(scope="module")
def joined(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    if not binary().exists():
        pytest.skip("the Kubernetes control plane is not built; build it with: make testbed")
    with own_network():
        world = Joined(tmp_path_factory.mktemp("joined"))
        try:
            yield world
        finally:
            world.close()
        assert remains(world.state) == NOTHING


@pytest.fixture(scope="module")
def idle(joined: Joined) -> str:
    """A Pod that only waits."""
    return joined.run(pod(f"echo hello; {FOR_EVER}", "idle", env=[{"name": "WHO", "value": "me"}]))


def test_the_node_is_ready_and_says_what_it_has_and_can(joined: Joined) -> None:
    joined.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=300s")
    status = json.loads(joined.kubectl("get", "node", NODE, "-o", "json"))["status"]
    assert status["declaredFeatures"] == ["ExtendWebSocketsToKubelet"]
    assert status["daemonEndpoints"]["kubeletEndpoint"]["Port"] == 10250
    assert {one["type"] for one in status["addresses"]} == {"InternalIP", "Hostname"}
    assert status["allocatable"].keys() >= {"cpu", "memory", "pods", "ephemeral-storage"}
    lease = json.loads(joined.kubectl("get", "lease", NODE, "--namespace", "kube-node-lease", "-o", "json"))
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"]) == (NODE, 40)


def test_who_shows_no_certificate_of_the_control_plane_is_turned_away(joined: Joined) -> None:
    stranger = joined.plane.credentials.issue("stranger", "stranger")
    assert joined.ask_kubelet("/healthz", stranger) == 401
    assert joined.ask_kubelet("/healthz", None) is None, "the handshake needs a certificate"


def test_logs_are_shown_and_followed(joined: Joined, idle: str) -> None:
    eventually(lambda: joined.kubectl("logs", idle) == "hello\n", what="it has spoken")
    joined.apply({"apiVersion": "v1", "kind": "Pod", **pod("for i in 1 2 3; do echo $i; sleep 0.1; done", "counts", restartPolicy="Never")})
    joined.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/counts", "--timeout=300s")
    assert joined.kubectl("logs", "--follow", "counts") == "1\n2\n3\n"
    assert joined.kubectl("logs", "--tail=1", "counts") == "3\n"


def test_a_command_has_its_streams_its_environment_and_its_exit_code(joined: Joined, idle: str) -> None:
    assert joined.kubectl("exec", idle, "--", "sh", "-c", "echo $WHO; hostname") == "me\nidle\n"
    assert joined.kubectl("exec", idle, "--", "sh", "-c", "echo out; echo err >&2; exit 3", code=3).startswith("err\n")
    assert joined.kubectl("exec", "-i", idle, "--", "sh", "-c", "cat; echo end", text="some\ntext") == "some\ntextend\n"
    megabytes = "0123456789abcdef\n" * 200_000
    assert joined.kubectl("exec", "-i", idle, "--", "cat", text=megabytes) == megabytes
    assert joined.kubectl("exec", idle, "--", "true") == ""


def test_what_cannot_be_executed_says_why(joined: Joined, idle: str) -> None:
    assert "executable file not found" in joined.kubectl("exec", idle, "--", "no-such-program", code=1)
    assert "container other is not valid" in joined.kubectl("exec", idle, "-c", "other", "--", "true", code=1)


def test_a_client_that_speaks_only_spdy_is_told_so_and_nothing_is_started_for_it(joined: Joined, idle: str) -> None:
    old = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
    for words in (("exec", idle, "--", "touch", "/tmp/started"), ("port-forward", idle, ":80")):
        done = subprocess.run(joined.argv(*words), env=joined.environ() | old, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1
        assert "only WebSocket with" in done.stderr
    joined.kubectl("exec", idle, "--", "test", "!", "-e", "/tmp/started")


def test_a_terminal_is_one_and_has_the_callers_size(joined: Joined, idle: str) -> None:
    with joined.terminal("exec", "-it", idle, "--", "sh") as screen:
        screen.resize(41, 123)
        eventually(lambda: screen.type("stty size; tty\n") or re.search(r"41 123\s+/dev/pts/\d", screen.shown()), 20.0)
        screen.type("exit 7\n")
        assert screen.end() == 7


def test_a_container_that_reads_is_attached_to(joined: Joined) -> None:
    spec = pod("while read line; do echo got $line; done; exit 4", "reads", restartPolicy="Never")
    spec["spec"]["containers"][0] |= {"stdin": True, "stdinOnce": True}
    joined.run(spec)
    told = joined.kubectl("attach", "-i", "reads", text="one\ntwo\n", code=None)
    assert "got one\ngot two\n" in told
    ended = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"
    eventually(lambda: joined.kubectl("get", "pod", "reads", "-o", ended) == "4", 20.0, "its input has ended, and so has it")
    assert joined.kubectl("logs", "reads") == "got one\ngot two\n"


def test_ports_of_a_pods_own_loopback_are_forwarded(joined: Joined) -> None:
    serves = "python3 -m http.server --bind 127.0.0.1 8123"
    joined.run(pod(serves, "serves", readinessProbe={"exec": {"command": ["python3", "-c", CONNECTS]}, "periodSeconds": 1}))
    with joined.forwarding("pod/serves", 8123) as port:
        for _ in range(3):
            assert b"200 OK" in ask(port, b"GET / HTTP/1.0\r\n\r\n")
    with joined.forwarding("pod/serves", 8124) as port:
        assert ask(port, b"anyone?") == b"", "nobody listens there"


def test_a_session_brings_a_heads_port_here_whole(joined: Joined) -> None:
    crds = subprocess.run([sys.executable, "-m", "rayfleet", "crds"], capture_output=True, text=True, check=True).stdout
    joined.kubectl("apply", "--server-side", "-f", "-", text=crds)
    joined.kubectl("wait", "--for=condition=Established", "crd/rayclusters.ray.io", "--timeout=300s")
    joined.apply(idle_cluster("one", workers=0))  # nobody looks after it: its head is ours
    serves = f"head -c {MUCH} /dev/zero > /tmp/much; exec python3 -m http.server --bind 127.0.0.1 --directory /tmp 8265"
    labels = {"ray.io/cluster": "one", "ray.io/node-type": "head"}
    listens = {"exec": {"command": ["python3", "-c", CONNECTS.replace("8123", "8265")]}, "periodSeconds": 1}
    joined.run(pod(serves, "head", labels=labels, readinessProbe=listens))
    with session([sys.executable, "-m", "rayfleet", "session", "one", "--kubeconfig", str(joined.kubeconfig)]) as held:
        answer = ask(held.port("dashboard"), b"GET /much HTTP/1.0\r\n\r\n")
        assert answer.endswith(bytes(MUCH))
        assert b"200 OK" in answer[:100]


def test_a_pod_reaches_the_api_server_by_its_service_as_its_own_account(joined: Joined, idle: str) -> None:
    answer = joined.kubectl("exec", "-i", idle, "--", "python3", "-", text=WHO_AM_I)
    user = json.loads(answer)["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:default:default"
    assert user["extra"]["authentication.kubernetes.io/pod-name"] == [idle]
    assert joined.kubectl("exec", idle, "--", "cat", f"{ACCOUNT}/namespace") == "default"


def test_a_kubelet_that_comes_back_renews_tokens_and_disturbs_no_pod(joined: Joined, idle: str) -> None:
    pod_before, token = joined.kubectl("get", "pod", idle, "-o", "json"), joined.kubectl("exec", idle, "--", "cat", f"{ACCOUNT}/token")
    joined.kubelet.kill()
    joined.kubelet = joined.start_kubelet()
    eventually(lambda: joined.kubectl("exec", idle, "--", "cat", f"{ACCOUNT}/token", code=None) not in (token, ""), 20.0, "another token")
    assert json.loads(joined.kubectl("get", "pod", idle, "-o", "json"))["status"] == json.loads(pod_before)["status"]


def test_a_claim_is_bound_to_a_volume_of_its_own(joined: Joined) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    joined.apply(claim)
    volumes, mounts = [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}], [{"name": "v", "mountPath": "/data"}]
    keeps = pod(f"echo kept > /data/f; {FOR_EVER}", "keeps", volumes=volumes, volumeMounts=mounts)
    keeps["spec"]["nodeName"] = NODE  # a scheduler waits until somebody has bound the claim, and no provisioner is here
    joined.run(keeps)
    joined.kubectl("wait", "--for=jsonpath={.status.phase}=Bound", "pvc/disk", "--timeout=300s")
    volume = joined.kubectl("get", "pvc", "disk", "-o", "jsonpath={.spec.volumeName}")
    assert joined.kubectl("get", "pv", volume, "-o", "jsonpath={.spec.claimRef.name} {.status.phase}") == "disk Bound"
    assert joined.kubectl("exec", "keeps", "--", "cat", "/data/f") == "kept\n"


def test_a_job_runs_to_its_end(joined: Joined) -> None:
    joined.kubectl("create", "job", "once", "--image=any", "--", "sh", "-c", "echo worked")
    joined.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=300s")
    assert joined.kubectl("logs", "job/once") == "worked\n"


ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
WHO_AM_I = f"""
import json, ssl, urllib.request
review = dict(apiVersion="authentication.k8s.io/v1", kind="SelfSubjectReview")
headers = {{"Authorization": "Bearer " + open("{ACCOUNT}/token").read(), "Content-Type": "application/json"}}
url = "https://kubernetes.default.svc/apis/authentication.k8s.io/v1/selfsubjectreviews"
request = urllib.request.Request(url, json.dumps(review).encode(), headers)
print(urllib.request.urlopen(request, context=ssl.create_default_context(cafile="{ACCOUNT}/ca.crt")).read().decode())
"""
MUCH = 3_000_000
CONNECTS = "import socket; socket.create_connection(('127.0.0.1', 8123))"


def ask(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        said = b""
        try:
            while piece := connection.recv(65536):
                said += piece
        except ConnectionResetError:
            pass
        return said
