"""Names as fences: when a name may not be used again, and how that is written down (design, decision 3).

A new Pod never gets a name that another Pod of this cluster has or had while an operator ran: Ray's autoscaler takes Pod names for
instance ids. Each slot has a number of lives, part of the hash in its Pods' names. It is raised, on the owner and tested against its
version, before the slot's Pod is deleted, and before a slot is filled again whose Pod was seen to go. A first creation costs no write.
Lives are counted for each slot apart: a raise must rename nobody else, or the create that another leader has under way for another slot
would no longer collide.

The annotation reads `headgroup:0=1;small:0-4=1,7=3`: group, replicas, lives. What is not listed has 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

MOST_REPLICAS = 100_000
MOST_LIVES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Lives:
    """Lives by (group, replica index); the hosts of a replica share theirs, as they live and go together."""

    counts: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def of(self, group: str, replica: int) -> int:
        return self.counts.get((group, replica), 0)

    def raised(self, group: str, replica: int) -> Lives:
        return Lives({**self.counts, (group, replica): self.of(group, replica) + 1})

    def __str__(self) -> str:
        return ";".join(
            f"{group}:{','.join(ranges(listed))}" for group, listed in groupby(sorted(self.counts.items()), lambda item: item[0][0])
        )


def ranges(listed: Iterable[tuple[tuple[str, int], int]]) -> list[str]:
    """`0-4=1`, `7=3`: neighbours with the same number of lives together."""
    found: list[list[int]] = []
    for (_, replica), lives in listed:
        if found and found[-1][1] == replica - 1 and found[-1][2] == lives:
            found[-1][1] = replica
        else:
            found.append([replica, replica, lives])
    return [f"{first}={lives}" if first == last else f"{first}-{last}={lives}" for first, last, lives in found]


@lru_cache(maxsize=4096)
def parse_lives(text: str) -> Lives:
    """Never raises: a part that somebody spoiled counts as not listed, and names in use are found in use all the same."""
    counts: dict[tuple[str, int], int] = {}
    for part in filter(None, text.split(";")):
        group, _, listed = part.partition(":")
        for entry in listed.split(","):
            span, _, lives = entry.partition("=")
            first, _, last = span.partition("-")
            last = last or first
            if first.isdecimal() and last.isdecimal() and lives.isdecimal() and int(lives) <= MOST_LIVES and int(last) < MOST_REPLICAS:
                counts |= {(group, replica): int(lives) for replica in range(int(first), int(last) + 1)}
    return Lives(counts)
