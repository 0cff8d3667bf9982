"""Runs one bench with its options, or all of them."""

from __future__ import annotations

import importlib
import sys

BENCHES = (
    "apiserver",
    "hostile",
    "plan",
    "autoscaling",
    "writes",
    "services",
    "jobs",
    "scrape",
    "hosting",
    "reaction",
    "sidecar",
    "fair",
    "fleet",
    "laptop",
    "pods",
)
WITH_OPTIONS = ("services", "jobs", "reaction", "fleet", "laptop")


def main() -> int:
    name, *words = sys.argv[1:] or [""]
    if name and name not in BENCHES:
        print(f"no bench {name!r}; there are: {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for each in [name] if name else BENCHES:
        print(each, flush=True)
        bench = importlib.import_module(f"bench.{each}")
        bench.main(words) if each in WITH_OPTIONS else bench.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
