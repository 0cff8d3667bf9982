"""Label selectors: which nodes a request may go to (Ray 2.52 and later)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from rayfleet.autoscaling.values import Request, Requirement, Selector

MOST_ALTERNATIVES = 64  # of what bundles that share a node may combine to

Labels = tuple[tuple[str, str], ...]


def fulfils(labels: dict[str, str], selector: Selector) -> bool:
    return all((labels.get(each.key) in each.values) != each.excluded for each in selector)


def preference(labels: dict[str, str], selectors: Sequence[Selector]) -> int:
    """How well a node suits: as many as there are alternatives for the first of them, 1 for the last, 0 for none."""
    for index, selector in enumerate(selectors):
        if fulfils(labels, selector):
            return len(selectors) - index
    return 0


def together(bundles: Sequence[Request]) -> tuple[Selector, ...]:
    """The alternatives of bundles that go to one node: one of each bundle's, all at once."""
    distinct = list(dict.fromkeys(bundle.selectors for bundle in bundles if bundle.selectors))
    if not distinct:
        return ()
    return tuple(tuple(dict.fromkeys(sum(chosen, ()))) for chosen in islice(product(*distinct), MOST_ALTERNATIVES))


def shown(selector: Selector) -> str:
    """As Ray's users write it: `zone in (a, b), tier not in (spot)`."""
    return ", ".join(term(each) for each in selector)


def term(requirement: Requirement) -> str:
    values = ", ".join(requirement.values)
    return f"{requirement.key} {'not in' if requirement.excluded else 'in'} ({values})"
