"""How much of the disk a Pod takes, and whether its spec allows that: sizeLimit of emptyDirs, limits of ephemeral-storage.

Source: https://kubernetes.io/docs/concepts/storage/ephemeral-storage/#resource-ephemeralstorage-consumption, in the words of kubelet 1.37.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rayfleet.api.quantity import canonical
from rayfleet.scheduling.amounts import amount_of, limited, of_all

STORAGE = "ephemeral-storage"
BLOCK = 512  # bytes, whatever the file system's are


@dataclass(frozen=True, slots=True)
class Use:
    """Bytes, by the names of volumes (emptyDirs on the disk) and of containers, whose logs count as theirs."""

    volumes: Mapping[str, int]
    containers: Mapping[str, int]


def volume_limits(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Those in memory are as large as they may be and no larger."""
    limits = {volume["name"]: amount_of(volume["emptyDir"].get("sizeLimit")) for volume in on_disk(spec)}
    return {name: limit for name, limit in limits.items() if limit}


def on_disk(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    volumes = spec.get("volumes") or ()
    return [one for one in volumes if one.get("emptyDir") is not None and one["emptyDir"].get("medium") != "Memory"]


def container_limits(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    lasting = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    limits = {one["name"]: limited(one).get(STORAGE) for one in (*lasting, *(spec.get("containers") or ()))}
    return {name: limit for name, limit in limits.items() if limit}


def is_bounded(spec: Mapping[str, Any]) -> bool:
    return bool(volume_limits(spec) or of_all(spec, limited).get(STORAGE))


def excess(spec: Mapping[str, Any], use: Use) -> str:
    """What the Pod is evicted for; "" if it takes no more than it may."""
    for name, limit in volume_limits(spec).items():
        if use.volumes.get(name, 0) > limit:
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{shown(limit)}". '
    whole = of_all(spec, limited).get(STORAGE)
    if whole and sum(use.volumes.values()) + sum(use.containers.values()) > whole:
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {shown(whole)}. "
    for name, limit in container_limits(spec).items():
        if use.containers.get(name, 0) > limit:
            return f'Container {name} exceeded its local ephemeral storage limit "{shown(limit)}". '
    return ""


def shown(amount: Fraction) -> str:
    return canonical(amount, amount % 1024 == 0)


def used(directory: Path, spec: Mapping[str, Any]) -> Use:
    """Reads the whole of a Pod's directory."""
    volumes = {one["name"]: taken_below(directory / "volumes" / one["name"]) for one in on_disk(spec)}
    folders = directory / "containers"
    return Use(volumes, {one.name: taken_below(one) for one in folders.iterdir()} if folders.is_dir() else {})


def taken_below(directory: Path) -> int:
    return sum(blocks(directory)) * BLOCK


def blocks(directory: str | Path) -> Iterator[int]:
    """Of all files below, as far as they can be seen: containers make, remove and close them meanwhile."""
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                yield entry.stat(follow_symlinks=False).st_blocks
                if entry.is_dir(follow_symlinks=False):
                    yield from blocks(entry.path)
    except OSError:
        return
