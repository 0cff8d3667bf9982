"""Where the API server is and as whom to speak to it: from a kubeconfig, or from inside a Pod."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rayfleet.kube.credentials import TokenFile, TokenSource, as_file, fixed_token, no_token, tls_context

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """A kubeconfig, or a Pod's surroundings, from which no connection can be made. The text names the file and what is missing."""


@dataclass(frozen=True, slots=True)
class Connection:
    """`server` is a URL without a trailing slash; `server_hostname` is checked in the server's certificate instead of the URL's host."""

    server: str
    ssl: ssl.SSLContext | None = None
    token: TokenSource = no_token
    namespace: str = "default"
    server_hostname: str | None = None


def in_cluster(root: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> Connection:
    """The connection that the kubelet prepares for a Pod. Raises ConfigError outside of one.

    https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError("not in a Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    if ":" in host:
        host = f"[{host}]"
    token = TokenFile(root / "token")
    try:
        token()
        namespace = (root / "namespace").read_text(encoding="utf-8").strip()
        context = tls_context(ca_file=str(root / "ca.crt"))
    except OSError as error:
        raise ConfigError(f"the Pod's service account cannot be read: {error}") from error
    return Connection(f"https://{host}:{port}", context, token, namespace)


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
    return Connection(
        server=str(cluster["server"]).rstrip("/"),
        ssl=context_for(file, cluster, user),
        token=token_for(file, user),
        namespace=chosen.get("namespace") or "default",
        server_hostname=cluster.get("tls-server-name"),
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


def token_for(file: Path, user: Mapping[str, Any]) -> TokenSource:
    if user.get("tokenFile"):
        return TokenFile(file.parent / user["tokenFile"])
    if user.get("token"):
        return fixed_token(user["token"])
    for method in ("exec", "auth-provider"):
        if user.get(method):
            raise ConfigError(f"{file} logs in by {method}, which is not supported; use a token, a tokenFile or a client certificate")
    return no_token


def context_for(file: Path, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext | None:
    """None for plain HTTP."""
    if not str(cluster["server"]).startswith("https:"):
        return None
    ca_data = cluster.get("certificate-authority-data")
    with (
        as_file(user.get("client-certificate-data"), beside(file, user.get("client-certificate"))) as certificate,
        as_file(user.get("client-key-data"), beside(file, user.get("client-key"))) as key,
    ):
        try:
            return tls_context(
                ca_file=None if ca_data else beside(file, cluster.get("certificate-authority")),
                ca_data=base64.b64decode(ca_data) if ca_data else None,
                certificate=certificate,
                key=key,
                verify=not cluster.get("insecure-skip-tls-verify"),
            )
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file}: its certificates cannot be used: {error}") from error


def beside(file: Path, name: str | None) -> str | None:
    """Paths in a kubeconfig are relative to the file."""
    return str(file.parent / name) if name else None
