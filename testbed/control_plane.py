"""One control plane: etcd, kube-apiserver and kube-controller-manager (a scheduler on demand), on loopback, in a directory of its own."""

from __future__ import annotations

import atexit
import json
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed import audit
from testbed.build import binary
from testbed.credentials import Credentials
from testbed.process import Process

# podgc is left out: it deletes Pods that are bound to a Node which no test registered.
CONTROLLERS = (
    "garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,"
    "endpointslice-controller,job-controller,cronjob-controller,disruption-controller,resourcequota-controller,"
    "replicaset-controller,deployment-controller,ttl-after-finished-controller,validatingadmissionpolicy-status-controller"
)
CLAIMS = ",persistentvolumeclaim-protection-controller,persistentvolume-protection-controller"
# Not on by default, but on many real clusters: who sets blockOwnerDeletion must be allowed to set the owner's finalizers.
ADMISSION = "OwnerReferencesPermissionEnforcement"
SERVICES = "10.96.0.0/16"
START = 60.0  # seconds; 3 on an idle machine
ATTEMPTS = 3  # a free port may be taken by somebody else before it is used

living: weakref.WeakSet[ControlPlane] = weakref.WeakSet()


class NotStarted(Exception):
    """A part did not come up; the text is the end of its log."""


class ControlPlane:
    """`start` it, and `stop` it: at the interpreter's end it is stopped in any case, and the kernel sees to it when that is killed.

    `users` get a token each (no rights: give them some). What they and all service accounts ask is in the audit log. With `claims` volume
    claims that are deleted go once no Pod uses them; without, they keep their finalizer.
    """

    def __init__(self, directory: Path, *, users: Sequence[str] = (), scheduler: bool = False, claims: bool = False) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.credentials = Credentials(directory / "credentials", ["127.0.0.1", SERVICES.replace(".0/16", ".1")], users)
        self._tls = ssl.create_default_context(cafile=str(self.credentials.ca))
        self.audit_log = directory / "audit.jsonl"
        self.booted = 0.0  # seconds that the start took
        self._with_scheduler = scheduler
        self._controllers = CONTROLLERS + (CLAIMS if claims else "")
        self._policy = directory / "audit-policy.json"
        self._policy.write_text(json.dumps(audit.policy(users)))
        self._ports = {"etcd": 0, "kube-apiserver": 0}
        self._parts: dict[str, Process] = {}
        living.add(self)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._ports['kube-apiserver']}"

    def start(self) -> ControlPlane:
        """Returns once the API is ready and namespaces get their service accounts. Raises NotStarted."""
        began = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            self._ports = {name: free_port() for name in self._ports}
            try:
                self._start_all()
                break
            except NotStarted as error:
                self.stop()
                if attempt == ATTEMPTS or "address already in use" not in str(error):
                    raise
        self.booted = time.monotonic() - began
        return self

    def stop(self) -> None:
        """End everything. Its directory stays, but for etcd's data."""
        for name in reversed(list(self._parts)):
            self._parts.pop(name).kill()  # nothing is to be kept, so nobody need be polite
        shutil.rmtree(self.directory / "etcd", ignore_errors=True)

    def part(self, name: str) -> Process:
        """kube-apiserver, kube-controller-manager, etcd or kube-scheduler."""
        return self._parts[name]

    def kill_apiserver(self) -> None:
        """As a crash does it."""
        self._parts["kube-apiserver"].kill()

    def start_apiserver(self) -> None:
        """On the port that it had. Returns when it is ready. Raises NotStarted."""
        self._run("kube-apiserver", self._apiserver_flags())
        self._wait_ready()

    def compact(self) -> int:
        """Let etcd forget all versions but the current ones; gives the version up to which."""
        status = self._etcd("maintenance/status", {})
        revision = int(status["header"]["revision"])
        self._etcd("kv/compaction", {"revision": revision, "physical": True})
        return revision

    def kubeconfig(self, user: str = "admin") -> Path:
        """For a user that has a token here: admin, kubelet, or one of `users`."""
        return self.credentials.kubeconfig(user, self.url, {"token": self.credentials.tokens[user]})

    def service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a fresh token of a ServiceAccount (TokenRequest)."""
        token = self.kubectl("create", "token", name, "--namespace", namespace).strip()
        return self.credentials.kubeconfig(f"{namespace}.{name}", self.url, {"token": token}, namespace)

    def kubectl(self, *words: str, text: str = "", user: str = "admin", kubeconfig: Path | None = None) -> str:
        """What kubectl prints. Raises AssertionError with what it says when it fails."""
        done = self.try_kubectl(*words, text=text, user=user, kubeconfig=kubeconfig)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def try_kubectl(
        self, *words: str, text: str = "", user: str = "admin", kubeconfig: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        environ = {
            "KUBECONFIG": str(kubeconfig or self.kubeconfig(user)),
            "HOME": str(self.directory),  # kubectl caches what a server serves below it
            "PATH": "/usr/bin:/bin",
        }
        command = [str(binary()), "kubectl", *words]
        return subprocess.run(command, input=text, capture_output=True, text=True, env=environ, timeout=120, check=False)

    def asked(self) -> list[audit.Asked]:
        """Everything that the audited users asked so far."""
        return list(audit.read(self.audit_log))

    def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> tuple[int, Any]:
        """As admin: the HTTP code, 0 when nobody answers, and the answer."""
        headers = {"Authorization": f"Bearer {self.credentials.tokens['admin']}", "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._tls) as response:
                return response.status, parsed(response.read())
        except urllib.error.HTTPError as error:
            return error.code, parsed(error.read())
        except OSError:
            return 0, None

    def answers(self, path: str) -> int:
        """The HTTP code of a GET as admin, 0 when nobody answers."""
        return self.request("GET", path)[0]

    def _start_all(self) -> None:
        self._run("etcd", self._etcd_flags())
        self._run("kube-apiserver", self._apiserver_flags())
        self._wait_ready()
        self._run("kube-controller-manager", self._manager_flags())
        if self._with_scheduler:
            self._run("kube-scheduler", ["--kubeconfig", str(self.kubeconfig("manager")), "--leader-elect=false", "--secure-port=0"])
        self._wait("kube-controller-manager", lambda: self.answers("/api/v1/namespaces/default/serviceaccounts/default") == 200)

    def _wait_ready(self) -> None:
        self._wait("kube-apiserver", lambda: self.answers("/readyz") == 200)

    def _wait(self, name: str, condition: Any) -> None:
        deadline = time.monotonic() + START
        while not condition():
            dead = next((part for part, process in self._parts.items() if not process.alive), None)
            if dead or time.monotonic() > deadline:
                raise NotStarted(f"{dead or name}:\n{self._parts[dead or name].told()[-3000:]}")
            time.sleep(0.05)

    def _run(self, name: str, flags: list[str]) -> None:
        self._parts[name] = Process([str(binary()), name, *flags], self.directory / f"{name}.log")

    def _etcd(self, call: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(f"{self._etcd_url()}/v3/{call}", data=json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    def _etcd_url(self) -> str:
        return f"http://127.0.0.1:{self._ports['etcd']}"

    def _etcd_flags(self) -> list[str]:
        url = self._etcd_url()
        return [
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _apiserver_flags(self) -> list[str]:
        files = self.credentials.directory
        return [
            f"--etcd-servers={self._etcd_url()}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",  # or a loopback address would be refused
            f"--secure-port={self._ports['kube-apiserver']}",
            f"--tls-cert-file={files / 'server.crt'}",
            f"--tls-private-key-file={files / 'server.key'}",
            f"--client-ca-file={self.credentials.ca}",
            f"--token-auth-file={self.credentials.token_file}",
            f"--service-account-key-file={self.credentials.service_account_key}",
            f"--service-account-signing-key-file={self.credentials.service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--kubelet-client-certificate={files / 'kubelet-client.crt'}",
            f"--kubelet-client-key={files / 'kubelet-client.key'}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=RBAC",
            f"--enable-admission-plugins={ADMISSION}",
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-mode=blocking",  # so that what was answered can be read
            "--shutdown-delay-duration=0s",
        ]

    def _manager_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig('manager')}",
            f"--service-account-private-key-file={self.credentials.service_account_key}",
            f"--root-ca-file={self.credentials.ca}",
            f"--controllers={self._controllers}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]


def parsed(content: bytes) -> Any:
    """JSON if it is, else text."""
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stop_all() -> None:
    for one in list(living):
        one.stop()


atexit.register(stop_all)
