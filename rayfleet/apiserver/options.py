"""How a write was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class WriteOptions:
    """`validation` is Ignore, Warn or Strict (unknown fields); `warnings` collects what the answer's Warning headers say."""

    dry_run: bool = False
    manager: str = ""
    validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    """paths of the members that were given twice"""
