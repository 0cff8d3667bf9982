"""The columns that kubectl shows for the core kinds."""

from __future__ import annotations

from rayfleet.apiserver.kind import Table

TABLES: dict[str, Table] = {}
