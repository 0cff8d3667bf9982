"""Runs the named benches, or all of them."""

from __future__ import annotations

import importlib
import sys

BENCHES = ("plan", "thousand", "laptop")


def main() -> int:
    chosen = sys.argv[1:] or list(BENCHES)
    for name in chosen:
        if name not in BENCHES:
            print(f"no bench {name!r}; there are: {', '.join(BENCHES)}", file=sys.stderr)
            return 2
        print(name, flush=True)
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
