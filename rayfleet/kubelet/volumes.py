"""The directories behind a Pod's volumes: emptyDir (also in memory), configMap, secret, downwardAPI, projected of these, hostPath.

All lie in the Pod's own directory, and go with it. https://kubernetes.io/docs/concepts/storage/volumes/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rayfleet.api.quantity import parse
from rayfleet.kubelet.env import ConfigError, Facts, Source, field_value, resource_value

FILE_KINDS = ("configMap", "secret", "downwardAPI")
DEFAULT_SHM = "size=64m,mode=1777"  # what container runtimes give a Pod that does not mount its own


def place(directory: Path, volume: Mapping[str, Any]) -> Path:
    """Where the volume's content lies. Raises ConfigError for a kind that this kubelet does not offer."""
    if volume.get("hostPath"):
        return Path(volume["hostPath"]["path"])
    if volume.get("emptyDir") is None and not any(volume.get(kind) for kind in (*FILE_KINDS, "projected")):
        kinds = sorted(set(volume) - {"name"}) or ["none"]
        raise ConfigError(f'volume "{volume["name"]}": {kinds[0]} volumes are not offered by the local kubelet')
    return directory / "volumes" / volume["name"]


def temporary(directory: Path, volumes: list[dict[str, Any]]) -> list[list[str]]:
    """The tmpfs mounts that all containers of the Pod share, /dev/shm first, as [path, options]."""
    found = [[str(directory / "shm"), DEFAULT_SHM]]
    for volume in volumes:
        empty = volume.get("emptyDir") or {}
        if empty.get("medium") == "Memory":
            size = f"size={parse(empty['sizeLimit']).ceil()}," if empty.get("sizeLimit") else ""
            found.append([str(place(directory, volume)), size + "mode=1777"])
    return found


def sources_of(volumes: list[dict[str, Any]]) -> list[Source]:
    """The Secrets and ConfigMaps whose content becomes files."""
    return sorted({source for volume in volumes for kind, part in file_parts(volume) if (source := source_of(kind, part))})


def file_parts(volume: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in FILE_KINDS:
        if volume.get(kind):
            yield kind, volume[kind]
    for part in (volume.get("projected") or {}).get("sources") or ():
        for kind, value in part.items():
            if kind not in FILE_KINDS:
                raise ConfigError(f'volume "{volume["name"]}": projected {kind} is not offered by the local kubelet')
            yield kind, value


def source_of(kind: str, part: Mapping[str, Any]) -> Source | None:
    if kind == "downwardAPI":
        return None
    return ("secret" if kind == "secret" else "configmap", part.get("secretName") or part.get("name") or "")


def fill(directory: Path, volumes: list[dict[str, Any]], facts: Facts) -> None:
    """Makes each volume's directory and files. Raises ConfigError when something referred to is missing."""
    for volume in volumes:
        where = place(directory, volume)
        if volume.get("hostPath"):
            if not where.exists():
                raise ConfigError(f'volume "{volume["name"]}": hostPath {where} does not exist')
            continue
        files = [pair for kind, part in file_parts(volume) for pair in files_of(kind, part, facts)]
        mode = mode_of(volume)
        where.mkdir(parents=True, exist_ok=True)
        if volume.get("emptyDir") is not None:
            where.chmod(0o1777)
        for name, content in files:
            path = where / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", errors="surrogateescape")
            path.chmod(mode)


def mode_of(volume: Mapping[str, Any]) -> int:
    for kind in (*FILE_KINDS, "projected"):
        if volume.get(kind):
            return int(volume[kind].get("defaultMode") or 0o644)
    return 0o644


def files_of(kind: str, part: Mapping[str, Any], facts: Facts) -> Iterator[tuple[str, str]]:
    source = source_of(kind, part)
    if source is None:
        for item in part.get("items") or ():
            if item.get("fieldRef"):
                yield item["path"], field_value(item["fieldRef"]["fieldPath"], facts)
            else:
                yield item["path"], resource_value(item["resourceFieldRef"], {}, facts)
        return
    data = facts.sources.get(source)
    if data is None:
        if part.get("optional"):
            return
        raise ConfigError(f'{source[0]} "{source[1]}" not found')
    for item in part.get("items") or [{"key": key, "path": key} for key in sorted(data)]:
        if item["key"] not in data and not part.get("optional"):
            raise ConfigError(f"{source[0]} {source[1]} has no key {item['key']}")
        if item["key"] in data:
            yield item["path"], data[item["key"]]
