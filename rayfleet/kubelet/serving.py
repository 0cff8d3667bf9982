"""The kubelet's own certificate, and who may call it.

An API server shows its client certificate (--kubelet-client-certificate), the embedded one the bearer token of the fleet. A certificate
that nobody signed is what a kubelet shows unless it is given one: API servers check it only if they are told an authority for it.
"""

from __future__ import annotations

import datetime
import hmac
import ipaddress
import os
import ssl
from pathlib import Path
from typing import Any

from aiohttp import web

from rayfleet.kubelet.settings import KubeletSettings

VALID = datetime.timedelta(days=365)


def tls(settings: KubeletSettings) -> ssl.SSLContext | None:
    """None: plain HTTP. Raises OSError when a file cannot be used."""
    if not settings.tls:
        return None
    certificate, key = settings.tls_cert, settings.tls_key
    if certificate is None or key is None:
        certificate, key = self_made(settings)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if settings.client_ca is not None:
        context.load_verify_locations(settings.client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL if settings.token else ssl.CERT_REQUIRED
    return context


def self_made(settings: KubeletSettings) -> tuple[Path, Path]:
    """(certificate, key) in the state directory, new at each start."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"{settings.node}@rayfleet")])
    names = [x509.DNSName(settings.node), x509.IPAddress(ipaddress.ip_address(settings.address))]
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files = settings.state / "serving.crt", settings.state / "serving.key"
    for path, content in zip(
        files, (signed.public_bytes(serialization.Encoding.PEM), key.private_bytes(serialization.Encoding.PEM, form, plain)), strict=True
    ):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
    return files


def admit(request: web.Request, settings: KubeletSettings) -> None:
    """Raises 401 for a stranger. Without a token and an authority nobody is asked."""
    if not settings.token and settings.client_ca is None:
        return
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if settings.token and hmac.compare_digest(shown.encode(), settings.token.encode()):
        return
    certificate = request.transport.get_extra_info("peercert") if request.transport else None
    if settings.client_ca is not None and certificate and (not settings.callers or common_name(certificate) in settings.callers):
        return
    raise web.HTTPUnauthorized(text="Unauthorized")


def common_name(certificate: dict[str, Any]) -> str:
    """The user, as Kubernetes reads a certificate that has been verified."""
    return next((value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"), "")
