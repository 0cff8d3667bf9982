"""All that a kubelet is told at its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

LOCAL_NODE = "local"
POD_ADDRESSES, CLUSTER_ADDRESSES = IPv4Network("10.88.0.0/16"), IPv4Network("10.96.0.0/16")
LEASE_SECONDS = 60.0  # between two heartbeats


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """The addresses are those of the fleet's own network namespace."""

    kubeconfig: Path
    state: Path  # the one directory that is written to
    environment: Path  # the Python environment that stands for images without a rule; its bin/ comes first on PATH
    images: Path | None = None  # the directory of the rules for images, and of orders of environments
    node: str = LOCAL_NODE
    beside: tuple[str, ...] = ()  # more nodes that are this machine: they share it, and can be lost one by one
    stopped: Path | None = None  # names the nodes that are lost on purpose, as JSON; read at the start and on SIGHUP
    overcommit: Mapping[str, float] = field(default_factory=dict)  # of what the machine has, how often it may be asked for; else once
    devices: Mapping[str, str] = field(default_factory=dict)  # amounts that the node says it has
    pretends: bool = False  # any other device is there as well, as often as anybody asks
    patience: float = 1.0  # of how long a node may be silent, and Pods may stay on a lost one; tests lower it
    bridge: str = "rf0"
    address: str = "10.88.0.1"  # of the bridge: default route, DNS and the kubelet's HTTP of every Pod
    subnet: IPv4Network = POD_ADDRESSES
    services: IPv4Network = CLUSTER_ADDRESSES  # ClusterIPs, served in user space
    domain: str = "cluster.local"
    api: tuple[str, int] = ("10.88.0.1", 6443)  # where service default/kubernetes leads to
    port: int = 10250
    bind: bool = True  # Pods that nobody has placed to this node; False where a scheduler does it
    token: str = ""  # callers of the kubelet's HTTP may show it
    tls: bool = False  # serve HTTPS, with the certificate given or one of its own making
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None  # whose certificates callers may show; without it and without a token nobody is asked
    callers: tuple[str, ...] = ()  # the common names that are let in with such a certificate; none: all
    upstream_dns: Path | None = None  # the Unix socket of a resolver for names outside the cluster; while it is not there they are refused
    host_paths: Path | None = None  # a file with the list of directories below which hostPath volumes may be; None: anywhere
    hidden: tuple[Path, ...] = ()  # directories that no Pod may see, as the state directory: credentials
    default_env: Mapping[str, str] = field(default_factory=dict)  # below what a container's own spec sets
    backoff_scale: float = 1.0  # of every back-off delay; tests lower it
    lease_seconds: float = LEASE_SECONDS

    @property
    def nodes(self) -> tuple[str, ...]:
        return (self.node, *self.beside)

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def substitutes(self) -> Path:
        """Programs that the machine lacks; absent when it lacks none."""
        return self.state / "bin"

    @property
    def pods(self) -> Path:
        return self.state / "pods"

    @property
    def kept_logs(self) -> Path:
        """Logs of Pods that are gone."""
        return self.state / "logs"

    @property
    def claims(self) -> Path:
        """The directories of PersistentVolumeClaims, by their UIDs."""
        return self.state / "claims"
