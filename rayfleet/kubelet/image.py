"""Images are not fetched: one Python environment stands for all. This says when a Pod asks for a Ray that the environment is not. Pure,
but for the look at what is installed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TAG = re.compile(r"(?:^|/)ray[\w.-]*:(\d+\.\d+\.\d+)")
VERSION_VARIABLE = "RAY_VERSION"


def installed_ray(environment: Path) -> str:
    """The version in the environment, "" when Ray is not installed there."""
    for path in environment.glob("lib/python3*/site-packages/ray-*.dist-info"):
        return path.name.removeprefix("ray-").removesuffix(".dist-info")
    return ""


def mismatch(spec: Mapping[str, Any], installed: str) -> str:
    """One sentence when a container's image or RAY_VERSION names another version than the installed one; else ""."""
    for container in spec.get("containers") or ():
        image = container.get("image") or ""
        tag = TAG.search(image)
        stated = [entry.get("value") for entry in container.get("env") or () if entry["name"] == VERSION_VARIABLE]
        wanted = tag.group(1) if tag else next(filter(None, stated), "")
        if wanted and wanted != installed:
            source = f"image {image}" if tag else f"{VERSION_VARIABLE}={wanted}"
            return f"{source} asks for Ray {wanted}; the local fleet runs {'Ray ' + installed if installed else 'no Ray at all'}"
    return ""
