"""As whom to speak, and whom to believe: bearer tokens and TLS contexts. What changes in time is in `login` and `exec_plugin`."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TokenSource = Callable[[], str | None]


def no_token() -> str | None:
    """For servers that know us by certificate, or not at all."""
    return None


def fixed_token(token: str) -> TokenSource:
    """A token that never changes."""
    return lambda: token


def tls_context(*, ca_file: str | None = None, ca_data: bytes | None = None, verify: bool = True) -> ssl.SSLContext:
    """A client's context. Without a CA the system's authorities are believed."""
    context = ssl.create_default_context(cafile=ca_file, cadata=ca_data.decode("ascii") if ca_data else None)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """A client's certificate and key, as PEM. Raises OSError, SSLError."""
    with as_file(certificate) as certificate_file, as_file(key) as key_file:
        context.load_cert_chain(certificate_file, key_file)


@contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """The path of a file that holds this: `ssl` reads certificates from files only. It is one in memory where there are such, so that
    nothing is written, else a private one that is gone afterwards."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("rayfleet")
        name = f"/proc/self/fd/{handle}"
    else:
        handle, name = tempfile.mkstemp(prefix="rayfleet-")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        try:
            yield name
        finally:
            if not name.startswith("/proc/"):
                Path(name).unlink()
