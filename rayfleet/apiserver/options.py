"""How a write was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rayfleet.apiserver.auth import User


@dataclass(slots=True)
class WriteOptions:
    """`validation` is Ignore, Warn or Strict (unknown fields); `warnings` collects what the answer's Warning headers say."""

    dry_run: bool = False
    manager: str = ""
    """the query's fieldManager"""
    agent: str = ""
    """how the client calls itself: the manager of a write that names none"""
    force: bool = False
    applied: bool = False
    """a server-side apply, which has said itself who owns what"""
    user: User | None = None
    """who writes, and is judged by policies; None: the server itself"""
    subresource: str = ""
    validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    """paths of the members that were given twice"""
