"""One storm after another on one processor, and what was seen in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection


def run_seeds(words: list[str], storm: Callable[[int], Counter[str]], wanted: Collection[str]) -> int:
    """`words` are how many (500) and the first seed (0). Exit code 1 if one broke (AssertionError) or something `wanted` never occurred."""
    number, first = (int(words[0]) if words else 500), (int(words[1]) if len(words) > 1 else 0)
    total: Counter[str] = Counter()
    broken = 0
    for seed in range(first, first + number):
        try:
            total += storm(seed)
        except AssertionError as error:
            broken += 1
            print(f"seed {seed}: {error}")
    missing = [name for name in wanted if not total[name]]
    for name, count in sorted(total.items()):
        print(f"{count:8} {name}")
    print(f"{number} storms, {broken} broken; never occurred: {', '.join(missing) or 'nothing'}")
    return 1 if broken or missing else 0
