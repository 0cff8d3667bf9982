"""Credentials that change while the process lives: renewed on disk by somebody else, or by a program that is run when they have expired.

What changes is looked for before each request (at most once a minute on disk), and at once when the server answers 401.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

LOOK_EVERY = 60.0
Seen = tuple[tuple[int, int], ...]


class Login(Protocol):
    """As whom to speak, at this moment."""

    def token(self) -> str | None:
        """The bearer token, if that is how the server knows us. Raises OSError when it was never readable."""

    async def refresh(self, *, rejected: bool = False) -> bool:
        """Before each request, and after a 401 (`rejected`). True when the credentials are now others. Raises ApiError."""

    @property
    def certificate(self) -> int:
        """Another number means another client certificate: connections that were made with the old one are not to be used again."""


class TokenFile:
    """A bearer token that is read from a file, again when the file has changed."""

    certificate = 0

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path)
        self._clock = clock
        self._token: str | None = None
        self._seen: Seen | None = None
        self._look_at = float("-inf")

    def token(self) -> str | None:
        """Raises OSError when the file was never readable; a file that vanishes later leaves the last token in use."""
        now = self._clock()
        if now < self._look_at:
            return self._token
        self._look_at = now + LOOK_EVERY
        try:
            seen = stamp(self._path)
            if seen != self._seen:
                self._token = self._path.read_text(encoding="utf-8").strip()
                self._seen = seen
        except OSError:
            if self._token is None:
                self._look_at = float("-inf")
                raise
        return self._token

    async def refresh(self, *, rejected: bool = False) -> bool:
        if not rejected:
            return False
        before, self._look_at = self._token, float("-inf")
        return self.token() != before


class CertificateFiles:
    """A client certificate and its key on disk, loaded again into the TLS context when the files have changed."""

    def __init__(
        self, context: ssl.SSLContext, certificate: Path, key: Path | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.certificate = 0
        self._context = context
        self._files = (certificate, key) if key else (certificate,)
        self._clock = clock
        self._seen = stamp(*self._files)
        self._look_at = clock() + LOOK_EVERY

    def token(self) -> str | None:
        """None: the server knows us by certificate."""
        return None

    async def refresh(self, *, rejected: bool = False) -> bool:
        """Files that cannot be read, or do not belong together yet (they are replaced one after the other), leave the last ones in use."""
        now = self._clock()
        if now < self._look_at and not rejected:
            return False
        self._look_at = now + LOOK_EVERY
        try:
            seen = stamp(*self._files)
            if seen == self._seen:
                return False
            self._context.load_cert_chain(*self._files)
        except (OSError, ssl.SSLError):
            return False
        self._seen = seen
        self.certificate += 1
        return True


def stamp(*files: Path) -> Seen:
    """Changes when one of the files is replaced or written. Raises OSError."""
    return tuple((stat.st_mtime_ns, stat.st_ino) for stat in (file.stat() for file in files))
