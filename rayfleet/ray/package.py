"""A working directory as the package that Ray's workers unpack: a zip file under a name that its content gives.

Written here and not taken from ray, so that a job can be submitted from where ray is not installed; Ray takes any name that ends in .zip.
https://docs.ray.io/en/latest/ray-core/handling-dependencies.html#remote-uris
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rayfleet.ray.ignored import FILES, USUAL, Rule, is_ignored, rules

MOST = 100 * 1024 * 1024  # bytes; a dashboard takes no larger request
EPOCH = (1980, 1, 1, 0, 0, 0)  # zip knows no earlier time; the same content gives the same bytes


class Package(NamedTuple):
    uri: str
    content: bytes
    files: int

    @property
    def path(self) -> str:
        """Of the Jobs API: GET says whether it is there, PUT brings it."""
        return f"/api/packages/{self.uri.replace('://', '/')}"


def pack(root: Path, excludes: Sequence[str] = ()) -> Package:
    """All of a directory but what is ignored; `excludes` are more lines as in .gitignore. Raises OSError; ValueError if too large."""
    told = hashlib.sha256()
    buffer = io.BytesIO()
    count = 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in entries(root, tuple(rules((*USUAL, *excludes)))):
            mode = path.stat().st_mode
            content = b"" if name.endswith("/") else path.read_bytes()
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (mode & 0xFFFF) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
            told.update(f"{name}\0{mode & 0o111:o}\0{len(content)}\0".encode(errors="surrogateescape") + content)
            count += not name.endswith("/")
            if buffer.tell() > MOST:
                raise ValueError(f"{root} has more than {MOST >> 20} MiB when packed; leave files out by a line in .rayignore each")
    return Package(f"gcs://_ray_pkg_{told.hexdigest()[:32]}.zip", buffer.getvalue(), count)


def entries(directory: Path, known: tuple[Rule, ...], base: str = "", above: frozenset[str] = frozenset()) -> Iterator[tuple[str, Path]]:
    """(name in the archive, path), sorted; of directories only empty ones, with a slash. Links are followed, but not in circles."""
    for file in FILES:
        if (found := directory / file).is_file():
            known = (*known, *rules(found.read_text(errors="replace").splitlines(), base))
    inside = above | {os.path.realpath(directory)}
    for path in sorted(directory.iterdir()):
        name, folder = f"{base}{path.name}", path.is_dir()
        if is_ignored(name, folder, known) or (folder and os.path.realpath(path) in inside):
            continue
        if folder and any(path.iterdir()):
            yield from entries(path, known, f"{name}/", inside)
        elif folder or path.is_file():
            yield f"{name}/" if folder else name, path
