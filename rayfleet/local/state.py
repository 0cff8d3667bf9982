"""The state directory: every file that a local fleet keeps, by its name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


def is_fleet_name(name: str) -> bool:
    """It is part of a directory's name, and its Unix sockets' paths must stay short."""
    return bool(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name))


def default_state(environ: Mapping[str, str], fleet: str = "") -> Path:
    """Where a fleet lives when nobody says: below `XDG_STATE_HOME` (https://specifications.freedesktop.org/basedir-spec)."""
    base = environ.get("XDG_STATE_HOME") or ""
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / f"rayfleet{'-' * bool(fleet)}{fleet}"


@dataclass(frozen=True)
class State:
    """One fleet's directory. Everything in it belongs to its owner alone (0700)."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def started(self) -> Path:
        """Since when this fleet runs, as RFC 3339: what an object says of an earlier time is of an earlier fleet."""
        return self.path / "started"

    @property
    def ports(self) -> Path:
        return self.path / "ports.json"

    @property
    def credentials(self) -> Path:
        return self.path / "credentials"

    @property
    def kubeconfig(self) -> Path:
        """For the host's side: through the door."""
        return self.path / "kubeconfig"

    @property
    def operator_config(self) -> Path:
        return self.path / "operator.json"

    @property
    def configuration(self) -> Path:
        """It is there where the user has named a file for this fleet: the file's path."""
        return self.path / "configuration"

    @property
    def objects(self) -> Path:
        """The embedded API's database; what `down` keeps."""
        return self.path / "objects"

    @property
    def pods(self) -> Path:
        """The kubelet's directory."""
        return self.path / "kubelet"

    @property
    def kept_logs(self) -> Path:
        """The kubelet's, of Pods that are gone."""
        return self.pods / "logs"

    @property
    def images(self) -> Path:
        """What stands for which image, and what is to be made for it."""
        return self.path / "images"

    @property
    def egress(self) -> Path:
        """It is there where Pods may go out: a list of the ports."""
        return self.path / "egress"

    @property
    def way_out(self) -> Path:
        """The socket at which the door makes connections to the world."""
        return self.path / "out.sock"

    @property
    def names(self) -> Path:
        """The socket at which the door answers for names outside the cluster."""
        return self.path / "names.sock"

    @property
    def host_paths(self) -> Path:
        """The directories below which hostPath volumes may be, as a list."""
        return self.path / "host_paths.json"

    @property
    def machine(self) -> Path:
        """How many nodes the fleet has, and what they offer."""
        return self.path / "machine.json"

    @property
    def stopped(self) -> Path:
        """The nodes that are stopped."""
        return self.path / "stopped.json"

    @property
    def peers(self) -> Path:
        return self.path / "peers"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def inner_kubeconfig(self, user: str) -> Path:
        """For a peer inside the namespace: straight to the API server."""
        return self.credentials / f"{user}.kubeconfig"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """The directory and its parts; existing ones stay."""
        for part in (self.path, self.credentials, self.objects, self.pods, self.images, self.peers, self.logs):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, path: Path, text: str) -> None:
        """Whole or not at all, and readable by the owner only. Raises OSError that names the file, also where the disk is full."""
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(text)
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(path)) from error
