"""The directories behind a Pod's volumes: emptyDir (also in memory), configMap, secret, downwardAPI, projected of these and of tokens,
hostPath, PersistentVolumeClaims and claims of the Pod's own (ephemeral).

All but the last three lie in the Pod's own directory, and go with it. https://kubernetes.io/docs/concepts/storage/volumes/
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rayfleet.api.quantity import parse
from rayfleet.kubelet import tokens
from rayfleet.kubelet.env import ConfigError, Facts, Source, field_value, resource_value
from rayfleet.kubelet.host_paths import admitted, prepare
from rayfleet.kubelet.users import for_group

File = tuple[str, str, int | None]  # path, content, mode; without one the volume's
FILE_KINDS = ("configMap", "secret", "downwardAPI")
PROJECTED_KINDS = (*FILE_KINDS, "serviceAccountToken")
CLAIM_LINK = "claim"  # beside the volume's name: the claim's directory, so that a restarted container finds it without the API
DEFAULT_SHM = "size=64m,mode=1777"  # what container runtimes give a Pod that does not mount its own


def place(directory: Path, volume: Mapping[str, Any], host_paths: Path | None) -> Path:
    """Where the volume's content lies. Raises ConfigError for a kind that is not offered here, or a hostPath that is not allowed."""
    if volume.get("hostPath"):
        return admitted(volume, host_paths)
    if claimed(volume):
        return Path(os.path.realpath(directory / "volumes" / f".{volume['name']}.{CLAIM_LINK}"))
    if volume.get("emptyDir") is None and not is_made_of_files(volume):
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
            found.append([str(directory / "volumes" / volume["name"]), size + "mode=1777"])
    return found


def sources_of(volumes: list[dict[str, Any]], pod: str) -> list[Source]:
    """The Secrets, ConfigMaps and tokens whose content becomes files, and the claims, of the Pod of this name."""
    found = {source for volume in volumes for kind, part in file_parts(volume) if (source := source_of(kind, part))}
    found |= {("claim", claim_name(volume, pod)) for volume in volumes if claimed(volume)}
    return sorted(found)


def claimed(volume: Mapping[str, Any]) -> bool:
    return bool(volume.get("persistentVolumeClaim") or volume.get("ephemeral"))


def claim_name(volume: Mapping[str, Any], pod: str) -> str:
    named = volume.get("persistentVolumeClaim")
    return str(named["claimName"]) if named else f"{pod}-{volume['name']}"


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


def fill(directory: Path, volumes: list[dict[str, Any]], facts: Facts, host_paths: Path | None, group: int | None = None) -> None:
    """Makes each volume's directory and files, or brings the files up to date; they are the group's to read, if there is one (fsGroup).

    Raises ConfigError when something referred to is missing.
    """
    for volume in volumes:
        if claimed(volume):
            link_claim(directory, volume, facts)
            continue
        where = place(directory, volume, host_paths)
        if volume.get("hostPath"):
            prepare(volume, where)
            continue
        files = [each for kind, part in file_parts(volume) for each in files_of(kind, part, facts)]
        if volume.get("emptyDir") is not None:
            make_empty(where)
        else:
            where.mkdir(parents=True, exist_ok=True)
            write_all(where, files, mode_of(volume), group)


def make_empty(where: Path) -> None:
    """A directory for all. One that is there belongs to the containers: they may have closed it."""
    if not where.exists():
        draft = where.with_name(f".{where.name}.new")
        draft.mkdir(parents=True, exist_ok=True)
        draft.chmod(0o1777)
        draft.replace(where)


def write_all(where: Path, files: Iterable[File], mode: int, group: int | None) -> None:
    """These files and no others. Raises ConfigError for a path that leads out."""
    wanted: set[Path] = set()
    for name, content, own in files:
        if name.startswith("/") or ".." in Path(name).parts:
            raise ConfigError(f"path {name} of a file must stay inside its volume")
        if clash := wanted.intersection((where / name).parents) or {path for path in wanted if where / name in path.parents}:
            raise ConfigError(f"path {name} of a file and path {min(clash).relative_to(where)} of another exclude each other")
        write(where / name, content, own or mode, group)
        wanted.add(where / name)
    for path in sorted(where.rglob("*"), reverse=True):  # what is inside a directory comes before it
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in wanted:
            path.unlink()


def write(path: Path, content: str, mode: int, group: int | None) -> None:
    """Whole or not at all: somebody may be reading the file that it replaces. One that says the same stays."""
    mode |= 0 if group is None else for_group(mode)
    if path.exists() and path.read_bytes() == content.encode(errors="surrogateescape"):
        belong(path, mode, group)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(content, encoding="utf-8", errors="surrogateescape")
    belong(draft, mode, group)
    draft.replace(path)


def belong(path: Path, mode: int, group: int | None) -> None:
    if group is not None:
        os.chown(path, -1, group)
    path.chmod(mode)


def link_claim(directory: Path, volume: Mapping[str, Any], facts: Facts) -> None:
    """What the Pod has once it keeps, though its claim be deleted, or another be made of that name."""
    name = claim_name(volume, str(facts.metadata.get("name")))
    link = directory / "volumes" / f".{volume['name']}.{CLAIM_LINK}"
    if link.exists():
        return
    found = facts.sources.get(("claim", name))
    if found is None:
        raise ConfigError(f'persistentvolumeclaim "{name}" not found')
    link.unlink(missing_ok=True)
    link.symlink_to(found["path"])


def used_claims(pods: Path) -> set[str]:
    """The UIDs of the claims that the Pods of these directories have."""
    return {link.readlink().name for link in pods.glob(f"*/volumes/.*.{CLAIM_LINK}")}


def is_made_of_files(volume: Mapping[str, Any]) -> bool:
    """Only the kubelet writes into such a volume."""
    return any(volume.get(kind) for kind in (*FILE_KINDS, "projected"))


def mode_of(volume: Mapping[str, Any]) -> int:
    for kind in (*FILE_KINDS, "projected"):
        if volume.get(kind):
            return int(volume[kind].get("defaultMode") or 0o644)
    return 0o644


def files_of(kind: str, part: Mapping[str, Any], facts: Facts) -> Iterator[File]:
    source = source_of(kind, part)
    if source is None:
        for item in part.get("items") or ():
            field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
            yield item["path"], field_value(field["fieldPath"], facts) if field else resource_value(resource, {}, facts), item.get("mode")
        return
    data = facts.sources.get(source)
    if kind == "serviceAccountToken":
        if data is None:
            raise ConfigError("no token can be had for the Pod's service account: it does not exist")
        yield part["path"], data["token"], None
        return
    if data is None:
        if part.get("optional"):
            return
        raise ConfigError(f'{source[0]} "{source[1]}" not found')
    for item in part.get("items") or [{"key": key, "path": key} for key in sorted(data)]:
        if item["key"] not in data and not part.get("optional"):
            raise ConfigError(f"{source[0]} {source[1]} has no key {item['key']}")
        if item["key"] in data:
            yield item["path"], data[item["key"]], item.get("mode")
