"""Keys and certificates, as a Certificate's spec asks for them. RSA of 2,048 bits whatever it says: larger keys take seconds to make."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(days=90)


@dataclass(frozen=True)
class Issued:
    """PEM texts: the certificate, its key, the CA's certificate."""

    certificate: bytes
    key: bytes
    ca: bytes

    @property
    def expires(self) -> datetime:
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc


def issue(spec: Mapping[str, Any], signer: Issued | None = None) -> Issued:
    """Signed by itself when there is no signer."""
    key = rsa.generate_private_key(65537, 2048)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, spec.get("commonName") or "node")])
    signing_key: Any = serialization.load_pem_private_key(signer.key, None) if signer else key
    issuer = x509.load_pem_x509_certificate(signer.certificate).subject if signer else subject
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), *lifetime())
    builder = builder.add_extension(x509.BasicConstraints(ca=bool(spec.get("isCA")), path_length=None), critical=True)
    if names := [*map(x509.DNSName, spec.get("dnsNames") or ()), *map(address, spec.get("ipAddresses") or ())]:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if not spec.get("isCA"):
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    certificate = builder.sign(signing_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Issued(certificate, text, signer.certificate if signer else certificate)


def lifetime() -> tuple[datetime, datetime]:
    now = datetime.now(UTC)
    return now - timedelta(minutes=5), now + LIFE


def address(text: str) -> x509.IPAddress:
    return x509.IPAddress(ipaddress.ip_address(text))
