"""What a control plane needs before it can start: an authority, a certificate for the server, a key for service accounts, tokens."""

from __future__ import annotations

import datetime
import ipaddress
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
ADMINS = ("admin", "manager", "kubelet")  # users of these names may do everything


class Credentials:
    """Files in one directory: ca.crt, server.crt, server.key, service-account.key, tokens.csv, NAME.kubeconfig."""

    def __init__(self, directory: Path, addresses: Sequence[str], users: Sequence[str] = ()) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.tokens = {user: secrets.token_urlsafe(24) for user in (*ADMINS, *users)}
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = named("testbed")
        self.ca = self._write("ca.crt", pem(self._sign(self._subject, self._key.public_key(), authority=True)))
        self.issue(
            "server", "kube-apiserver", [*map(x509.DNSName, SERVER_NAMES), *(x509.IPAddress(ipaddress.ip_address(a)) for a in addresses)]
        )
        self.issue("kubelet-client", "kube-apiserver-kubelet-client")
        self.service_account_key = self._write("service-account.key", private(ec.generate_private_key(ec.SECP256R1())))
        lines = [f'{token},{user},{user},"{"system:masters" if user in ADMINS else ""}"\n' for user, token in self.tokens.items()]
        self.token_file = self._write("tokens.csv", "".join(lines).encode())

    def issue(
        self, file: str, name: str, names: Sequence[x509.GeneralName] = (), group: str = "", hours: float = 24.0
    ) -> tuple[Path, Path]:
        """FILE.crt and FILE.key for a user (or server) of that name, which the control plane believes."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(named(name, group), key.public_key(), names, hours=hours)
        return self._write(f"{file}.crt", pem(certificate)), self._write(f"{file}.key", private(key))

    def kubeconfig(self, name: str, server: str, user: dict[str, Any], namespace: str = "default") -> Path:
        """NAME.kubeconfig; `user` is what stands under `user:` there. JSON is YAML."""
        cluster = {"server": server, "certificate-authority": str(self.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": "testbed", "user": name, "namespace": namespace}}],
            "clusters": [{"name": "testbed", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
        }
        return self._write(f"{name}.kubeconfig", json.dumps(config, indent=1).encode())

    def _write(self, name: str, content: bytes) -> Path:
        """In one step, as tools do that renew certificates."""
        file, draft = self.directory / name, self.directory / f".{name}.new"
        draft.touch(mode=0o600)
        draft.write_bytes(content)
        return draft.replace(file)

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        names: Sequence[x509.GeneralName] = (),
        *,
        authority: bool = False,
        hours: float = 24.0,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=hours))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def named(name: str, group: str = "") -> x509.Name:
    """As Kubernetes reads a client's certificate: CN is the user, O a group."""
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
