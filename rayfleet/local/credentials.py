"""Who may speak to the fleet's API: an authority of its own, the server's certificate, one token for each user, kubeconfig files."""

from __future__ import annotations

import datetime
import ipaddress
import json
import secrets
from typing import Any

from rayfleet.local.state import State

USERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "admin": ("admin", ("system:masters",)),
    "operator": ("rayfleet-operator", ("system:masters",)),
    "kubelet": ("system:node:local", ("system:nodes", "system:masters")),
}
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
ADDRESSES = ("127.0.0.1", "::1", "10.88.0.1", "10.96.0.1")
INNER_SERVER = "https://127.0.0.1:6443"
VALID = datetime.timedelta(days=3650)


def issue(state: State) -> None:
    """Make what is not there yet; what is there stays, so that a kubeconfig somebody copied goes on working."""
    if not (state.credentials / "server.key").exists():
        issue_certificates(state)
    if not (state.credentials / "tokens.json").exists():
        tokens = {secrets.token_urlsafe(32): USERS[name] for name in USERS}
        state.write(state.credentials / "tokens.json", json.dumps(tokens, indent=1))
    for name in ("operator", "kubelet"):
        state.write(state.inner_kubeconfig(name), kubeconfig(state, name, INNER_SERVER))


def tokens(state: State) -> dict[str, tuple[str, tuple[str, ...]]]:
    """token -> (user, groups), as the API server wants them."""
    return {token: (user, tuple(groups)) for token, (user, groups) in json.loads((state.credentials / "tokens.json").read_text()).items()}


def token_of(state: State, name: str) -> str:
    return next(token for token, (user, _) in tokens(state).items() if user == USERS[name][0])


def kubeconfig(state: State, name: str, server: str) -> str:
    """A kubeconfig that stands alone: authority and token are inside. https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/"""
    import base64

    authority = base64.b64encode((state.credentials / "ca.crt").read_bytes()).decode()
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rayfleet", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"token": token_of(state, name)}}],
        "contexts": [{"name": "rayfleet", "context": {"cluster": "rayfleet", "user": name, "namespace": "default"}}],
        "current-context": "rayfleet",
    }
    return json.dumps(document, indent=1) + "\n"  # JSON is YAML


def issue_certificates(state: State) -> None:
    """An authority and a server certificate signed by it. The authority's key is not kept: nothing else is ever to be signed."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "rayfleet local authority")])
    authority = (
        certificate(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .add_extension(key_usage(signs=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    server = (
        certificate(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "rayfleet api")]), authority_name, server_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(key_usage(signs=False), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    state.write(state.credentials / "ca.crt", pem(authority))
    state.write(state.credentials / "server.crt", pem(server))
    state.write(state.credentials / "server.key", private_pem(server_key))


def certificate(subject: Any, issuer: Any, key: Any) -> Any:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    hour = datetime.timedelta(hours=1)  # a clock that was set back must not void the certificate
    return builder.serial_number(x509.random_serial_number()).not_valid_before(now - hour).not_valid_after(now + VALID)


def key_usage(signs: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def pem(signed: Any) -> str:
    from cryptography.hazmat.primitives import serialization

    return str(signed.public_bytes(serialization.Encoding.PEM).decode())


def private_pem(key: Any) -> str:
    from cryptography.hazmat.primitives import serialization

    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return str(key.private_bytes(serialization.Encoding.PEM, form, plain).decode())
