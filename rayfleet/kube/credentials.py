"""As whom to speak, and whom to believe: bearer tokens and TLS contexts.

A token on disk is renewed by somebody else (the kubelet, a login tool); it is looked at again at most once a minute, and read only when
the file has changed.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TokenSource = Callable[[], str | None]
LOOK_EVERY = 60.0


def no_token() -> str | None:
    """For servers that know us by certificate, or not at all."""
    return None


def fixed_token(token: str) -> TokenSource:
    """A token that never changes."""
    return lambda: token


class TokenFile:
    """A bearer token that is read from a file, again when the file has changed."""

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path)
        self._clock = clock
        self._token: str | None = None
        self._seen: tuple[int, int] | None = None
        self._look_at = float("-inf")

    def __call__(self) -> str | None:
        """Raises OSError when the file was never readable; a file that vanishes later leaves the last token in use."""
        now = self._clock()
        if now < self._look_at:
            return self._token
        self._look_at = now + LOOK_EVERY
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_ino)
            if seen != self._seen:
                self._token = self._path.read_text(encoding="utf-8").strip()
                self._seen = seen
        except OSError:
            if self._token is None:
                self._look_at = float("-inf")
                raise
        return self._token


def tls_context(
    *, ca_file: str | None = None, ca_data: bytes | None = None, certificate: str | None = None, key: str | None = None, verify: bool = True
) -> ssl.SSLContext:
    """A client's context. `certificate` and `key` are paths. Without a CA the system's authorities are believed."""
    context = ssl.create_default_context(cafile=ca_file, cadata=ca_data.decode("ascii") if ca_data else None)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key or None)
    return context


@contextmanager
def as_file(data: str | None, path: str | None) -> Iterator[str | None]:
    """The path of a PEM that a kubeconfig holds inline (base64) or names. `ssl` reads certificates from files only, so inline ones pass
    through a private file that is gone as soon as they are loaded."""
    if not data:
        yield path
        return
    handle, name = tempfile.mkstemp(prefix="rayfleet-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(base64.b64decode(data))
        yield name
    finally:
        Path(name).unlink()
