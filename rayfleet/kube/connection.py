"""Where the API server is and as whom to speak to it: from a kubeconfig, or from inside a Pod."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment

import msgspec
import yaml

from rayfleet.kube.credentials import TokenSource, fixed_token, load_pair, no_token, tls_context
from rayfleet.kube.exec_plugin import ExecPlugin, Program
from rayfleet.kube.login import CertificateFiles, Login, TokenFile

CLUSTER_FIELDS = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """A kubeconfig, or a Pod's surroundings, from which no connection can be made. The text names the file and what is missing."""


@dataclass(frozen=True, slots=True)
class Connection:
    """`server` is a URL without a trailing slash; `server_hostname` is checked in the server's certificate instead of the URL's host.

    `proxy` is the URL of an HTTP proxy; `login` keeps up credentials that change while the process lives, `token` gives the present one.
    """

    server: str
    ssl: ssl.SSLContext | None = None
    token: TokenSource = no_token
    namespace: str = "default"
    server_hostname: str | None = None
    proxy: str | None = None
    login: Login | None = None


def in_cluster(root: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> Connection:
    """The connection that the kubelet prepares for a Pod. Raises ConfigError outside of one.

    https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError("not in a Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    if ":" in host:
        host = f"[{host}]"
    login = TokenFile(root / "token")
    try:
        login.token()
        namespace = (root / "namespace").read_text(encoding="utf-8").strip()
        context = tls_context(ca_file=str(root / "ca.crt"))
    except OSError as error:
        raise ConfigError(f"the Pod's service account cannot be read: {error}") from error
    return Connection(f"https://{host}:{port}", context, login.token, namespace, login=login)


def load_kubeconfig(path: str | Path | None = None, context: str | None = None) -> Connection:
    """The connection that a kubeconfig describes.

    Without a path: the first file in KUBECONFIG that exists, else ~/.kube/config. Without a context: the file's current one.
    Raises ConfigError. https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
    """
    file = Path(path) if path else default_path()
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{file} is no kubeconfig")
    chosen = named(file, config, "contexts", "context", context or config.get("current-context") or "")
    cluster = named(file, config, "clusters", "cluster", chosen.get("cluster", ""))
    user = named(file, config, "users", "user", chosen["user"]) if chosen.get("user") else {}
    if not cluster.get("server"):
        raise ConfigError(f"{file}: the cluster {chosen.get('cluster')} has no server")
    tls = context_for(file, cluster)
    login = login_for(file, cluster, user, tls)
    fixed = user.get("token") if not user.get("tokenFile") else None
    return Connection(
        server=str(cluster["server"]).rstrip("/"),
        ssl=tls,
        token=fixed_token(fixed) if fixed else login.token if login else no_token,
        namespace=chosen.get("namespace") or "default",
        server_hostname=cluster.get("tls-server-name"),
        proxy=proxy_for(file, cluster),
        login=login,
    )


def default_path() -> Path:
    for name in os.environ.get("KUBECONFIG", "").split(os.pathsep):
        if name and Path(name).exists():
            return Path(name)
    return Path.home() / ".kube" / "config"


def named(file: Path, config: Mapping[str, Any], many: str, one: str, name: str) -> dict[str, Any]:
    """The entry of the given name in one of a kubeconfig's lists."""
    for entry in config.get(many) or ():
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry.get(one) or {}
    if not name:
        raise ConfigError(f"{file} names no current {one}")
    raise ConfigError(f"{file} has no {one} named {name}")


def context_for(file: Path, cluster: Mapping[str, Any]) -> ssl.SSLContext | None:
    """None for plain HTTP."""
    if not str(cluster["server"]).startswith("https:"):
        return None
    ca_data = cluster.get("certificate-authority-data")
    try:
        return tls_context(
            ca_file=None if ca_data else text_of(beside(file, cluster.get("certificate-authority"))),
            ca_data=base64.b64decode(ca_data) if ca_data else None,
            verify=not cluster.get("insecure-skip-tls-verify"),
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: its certificates cannot be used: {error}") from error


def login_for(file: Path, cluster: Mapping[str, Any], user: Mapping[str, Any], context: ssl.SSLContext | None) -> Login | None:
    """What in the credentials changes in time; those that do not are put into the context at once. None when nothing changes."""
    certificate = certificate_for(file, user, context)
    if user.get("tokenFile"):
        return TokenFile(file.parent / user["tokenFile"])
    if user.get("token"):
        return certificate
    if user.get("auth-provider"):
        raise ConfigError(f"{file} logs in by auth-provider, which is not supported; use exec, a token or a client certificate")
    if user.get("exec"):
        return exec_plugin(file, cluster, user["exec"], context)
    return certificate


def certificate_for(file: Path, user: Mapping[str, Any], context: ssl.SSLContext | None) -> CertificateFiles | None:
    """A client certificate goes into the context; those in files are looked at again."""
    data, key_data = user.get("client-certificate-data"), user.get("client-key-data")
    path, key_path = beside(file, user.get("client-certificate")), beside(file, user.get("client-key"))
    if context is None or not (data or path):
        return None
    try:
        if path and not data and not key_data:
            context.load_cert_chain(path, key_path)
            return CertificateFiles(context, path, key_path)
        load_pair(context, content_of(data, path), content_of(key_data, key_path) or content_of(data, path))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: its certificates cannot be used: {error}") from error
    return None


def content_of(data: str | None, path: Path | None) -> bytes:
    """What a kubeconfig holds inline (base64), or names."""
    return base64.b64decode(data) if data else path.read_bytes() if path else b""


def exec_plugin(file: Path, cluster: Mapping[str, Any], told: Any, context: ssl.SSLContext | None) -> ExecPlugin:
    try:
        program = msgspec.convert(told, Program)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file}: exec cannot be read: {error}") from error
    if wrong := program.wrong():
        raise ConfigError(f"{file}: {wrong}")
    return ExecPlugin(program, file.parent, context, cluster_info(file, cluster))


def cluster_info(file: Path, cluster: Mapping[str, Any]) -> dict[str, Any]:
    """What a log-in program is told of the cluster (ExecCredential's spec.cluster)."""
    told = {name: cluster[name] for name in CLUSTER_FIELDS if cluster.get(name)}
    authority = beside(file, cluster.get("certificate-authority"))
    if "certificate-authority-data" not in told and authority and authority.exists():
        told["certificate-authority-data"] = base64.b64encode(authority.read_bytes()).decode()
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == "client.authentication.k8s.io/exec":
            told["config"] = extension.get("extension")
    return told


def proxy_for(file: Path, cluster: Mapping[str, Any]) -> str | None:
    """The kubeconfig's, else the environment's (HTTPS_PROXY, NO_PROXY); servers on this machine are always spoken to directly."""
    server = urlsplit(str(cluster["server"]))
    proxy = cluster.get("proxy-url")
    if not proxy and not is_loopback(server.hostname or "") and not proxy_bypass_environment(server.hostname or ""):
        proxy = getproxies_environment().get(server.scheme)
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigError(f"{file}: the proxy {urlsplit(proxy).scheme}://{urlsplit(proxy).hostname} is none of http or https")
    return proxy or None


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def beside(file: Path, name: str | None) -> Path | None:
    """Paths in a kubeconfig are relative to the file."""
    return file.parent / name if name else None


def text_of(path: Path | None) -> str | None:
    return str(path) if path else None
