"""The directories behind a Pod's volumes: emptyDir (also in memory), configMap, secret, downwardAPI, projected of these and of tokens,
hostPath and PersistentVolumeClaims.

All but the last two lie in the Pod's own directory, and go with it. https://kubernetes.io/docs/concepts/storage/volumes/
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rayfleet.api.quantity import parse
from rayfleet.kubelet import tokens
from rayfleet.kubelet.env import ConfigError, Facts, Source, field_value, resource_value

FILE_KINDS = ("configMap", "secret", "downwardAPI")
PROJECTED_KINDS = (*FILE_KINDS, "serviceAccountToken")
CLAIM_LINK = "claim"  # beside the volume's name: the claim's directory, so that a restarted container finds it without the API
DEFAULT_SHM = "size=64m,mode=1777"  # what container runtimes give a Pod that does not mount its own


def place(directory: Path, volume: Mapping[str, Any]) -> Path:
    """Where the volume's content lies. Raises ConfigError for a kind that this kubelet does not offer."""
    if volume.get("hostPath"):
        return Path(volume["hostPath"]["path"])
    if volume.get("persistentVolumeClaim"):
        return Path(os.path.realpath(directory / "volumes" / f".{volume['name']}.{CLAIM_LINK}"))
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
    """The Secrets, ConfigMaps and tokens whose content becomes files, and the claims."""
    found = {source for volume in volumes for kind, part in file_parts(volume) if (source := source_of(kind, part))}
    found |= {claim_of(volume) for volume in volumes if volume.get("persistentVolumeClaim")}
    return sorted(found)


def claim_of(volume: Mapping[str, Any]) -> Source:
    return "claim", volume["persistentVolumeClaim"]["claimName"]


def file_parts(volume: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in FILE_KINDS:
        if volume.get(kind):
            yield kind, volume[kind]
    for part in (volume.get("projected") or {}).get("sources") or ():
        for kind, value in part.items():
            if kind not in PROJECTED_KINDS:
                raise ConfigError(f'volume "{volume["name"]}": projected {kind} is not offered by the local kubelet')
            yield kind, value


def source_of(kind: str, part: Mapping[str, Any]) -> Source | None:
    if kind == "downwardAPI":
        return None
    if kind == "serviceAccountToken":
        return tokens.source(part)
    return ("secret" if kind == "secret" else "configmap", part.get("secretName") or part.get("name") or "")


def fill(directory: Path, volumes: list[dict[str, Any]], facts: Facts) -> None:
    """Makes each volume's directory and files, or brings the files up to date. Raises ConfigError when something referred to is missing."""
    for volume in volumes:
        if volume.get("persistentVolumeClaim"):
            link_claim(directory, volume, facts)
            continue
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
            write(where / name, content, mode)


def write(path: Path, content: str, mode: int) -> None:
    """Whole or not at all: somebody may be reading the file that it replaces. One that says the same stays."""
    if path.exists() and path.read_bytes() == content.encode(errors="surrogateescape"):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(content, encoding="utf-8", errors="surrogateescape")
    draft.chmod(mode)
    draft.replace(path)


def link_claim(directory: Path, volume: Mapping[str, Any], facts: Facts) -> None:
    found = facts.sources.get(claim_of(volume))
    if found is None:
        raise ConfigError(f'persistentvolumeclaim "{claim_of(volume)[1]}" not found')
    link = directory / "volumes" / f".{volume['name']}.{CLAIM_LINK}"
    link.unlink(missing_ok=True)
    link.symlink_to(found["path"])


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
    if kind == "serviceAccountToken":
        if data is None:
            raise ConfigError("no token can be had for the Pod's service account: it does not exist")
        yield part["path"], data["token"]
        return
    if data is None:
        if part.get("optional"):
            return
        raise ConfigError(f'{source[0]} "{source[1]}" not found')
    for item in part.get("items") or [{"key": key, "path": key} for key in sorted(data)]:
        if item["key"] not in data and not part.get("optional"):
            raise ConfigError(f"{source[0]} {source[1]} has no key {item['key']}")
        if item["key"] in data:
            yield item["path"], data[item["key"]]
