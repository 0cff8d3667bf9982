"""Logging in by a program that a kubeconfig names, as clouds ship them: it prints a token or a certificate, and until when it holds.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from rayfleet.kube.credentials import load_pair
from rayfleet.kube.errors import Unreachable

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
PATIENCE = 120.0  # seconds for the program to end: a person may have to log in somewhere
NOT_AGAIN_BEFORE = 5.0  # seconds after a failure
QUOTED = 1000


class CredentialStatus(msgspec.Struct, frozen=True, rename="camel"):
    expiration_timestamp: datetime | None = None
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None

    @property
    def pair(self) -> tuple[bytes, bytes] | None:
        """The certificate and its key, as PEM."""
        if not self.client_certificate_data or not self.client_key_data:
            return None
        return self.client_certificate_data.encode(), self.client_key_data.encode()


class ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    """What the program prints."""

    api_version: str = ""
    kind: str = ""
    status: CredentialStatus = CredentialStatus()


class Program(msgspec.Struct, frozen=True, rename="camel"):
    """What a kubeconfig says under `exec:`."""

    command: str = ""
    api_version: str = ""
    args: list[str] | None = None
    env: list[dict[str, str]] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"

    def wrong(self) -> str:
        """Why it cannot be used; "" when it can."""
        if not self.command:
            return "exec names no command"
        if self.api_version not in VERSIONS:
            return f"exec asks for {self.api_version or 'no apiVersion'}; {' and '.join(VERSIONS)} are supported"
        return ""


class ExecPlugin:
    """Runs the program when there are no credentials yet, when they have expired, or when the server turned them away; one at a time.

    `context` gets the certificate, if the program gives one. `cluster` is told to a program that asks for it. Times are the wall's.
    """

    def __init__(
        self,
        program: Program,
        folder: Path,
        context: ssl.SSLContext | None,
        cluster: Mapping[str, Any],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.certificate = 0
        self._program = program
        self._folder = folder
        self._context = context
        self._cluster = cluster
        self._clock = clock
        self._status: CredentialStatus | None = None
        self._failed: Unreachable | None = None
        self._ran_at = float("-inf")
        self._one = asyncio.Lock()

    def token(self) -> str | None:
        return self._status.token or None if self._status else None

    async def refresh(self, *, rejected: bool = False) -> bool:
        """Raises Unreachable with what the program said when it fails. It is not run again for a few seconds, whether it failed or the
        server rejects what it gives."""
        before = self._status
        if self._holds() and (not rejected or self._ran_lately()):
            return False
        async with self._one:
            if self._status is before:  # else another request has waited for it already
                await self._run()
        return self._status is not before

    def _holds(self) -> bool:
        if self._status is None:
            return False
        end = self._status.expiration_timestamp
        return end is None or self._clock() < end.timestamp()

    def _ran_lately(self) -> bool:
        return self._ran_at <= self._clock() < self._ran_at + NOT_AGAIN_BEFORE

    async def _run(self) -> None:
        if self._failed and self._ran_lately():
            raise self._failed
        self._failed = None
        try:
            self._take(understood(await self._output(), self._program))
        except Unreachable as error:
            self._failed = error
            raise
        finally:
            self._ran_at = self._clock()

    def _take(self, found: CredentialStatus) -> None:
        if found.pair and self._context and found.pair != (self._status.pair if self._status else None):
            try:
                load_pair(self._context, *found.pair)
            except (OSError, ssl.SSLError) as error:
                raise failed(self._program, f"gave a certificate that cannot be used: {error}") from error
            self.certificate += 1
        self._status = found

    async def _output(self) -> bytes:
        program = self._program
        interactive = program.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if program.interactive_mode == "Always" and not interactive:
            raise failed(program, "needs a terminal, and there is none")
        try:
            process = await asyncio.create_subprocess_exec(
                self._path(),
                *(program.args or ()),
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,
                env=self._environ(interactive),
            )
        except OSError as error:
            raise failed(program, f"cannot be run: {error}. {program.install_hint}".rstrip(". ")) from error
        try:
            async with asyncio.timeout(PATIENCE):
                output, told = await process.communicate()
        except TimeoutError:
            raise failed(program, f"did not end within {PATIENCE:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = (told or b"").decode("utf-8", "replace").strip()[-QUOTED:]
            raise failed(program, f"ended with {process.returncode}" + (f": {said}" if said else ""))
        return output

    def _path(self) -> str:
        """A path is relative to the kubeconfig, a bare name is looked for in PATH."""
        command = self._program.command
        return str(self._folder / command) if os.sep in command else command

    def _environ(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._program.provide_cluster_info:
            spec["cluster"] = dict(self._cluster)
        info = {"kind": "ExecCredential", "apiVersion": self._program.api_version, "spec": spec}
        own = {pair["name"]: pair["value"] for pair in self._program.env or ()}
        return {**os.environ, **own, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def understood(output: bytes, program: Program) -> CredentialStatus:
    """Raises Unreachable. The output itself is never quoted: it may hold a secret."""
    try:
        found = msgspec.json.decode(output, type=ExecCredential)
    except msgspec.MsgspecError as error:
        raise failed(program, f"printed no ExecCredential: {error}") from None
    if (found.kind, found.api_version) != ("ExecCredential", program.api_version):
        raise failed(program, f"printed a {found.kind or 'nothing'} of {found.api_version or 'no version'}, not of {program.api_version}")
    status = found.status
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise failed(program, "gave a certificate without its key, or a key without its certificate")
    if not status.token and not status.pair:
        raise failed(program, "gave neither a token nor a certificate")
    return status


def failed(program: Program, why: str) -> Unreachable:
    return Unreachable(f"the log-in program {program.command} {why}", "LoginFailed")
