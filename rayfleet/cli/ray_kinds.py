"""Our four kinds, and the words for them on a command line."""

from __future__ import annotations

from rayfleet.api.meta import RAYCLUSTERS, RAYCRONJOBS, RAYJOBS, RAYSERVICES

RAY_KINDS = {each.kind: each for each in (RAYCLUSTERS, RAYSERVICES, RAYJOBS, RAYCRONJOBS)}
RAY_WORDS = {
    word: each for each in RAY_KINDS.values() for name in (each.kind.lower(), each.plural) for word in (name, f"{name}.{each.group}")
}
"""What may stand before the slash of KIND/NAME."""
