"""Leave to send something: asked for again in the very moment in which it leaves, after any wait for a connection or for its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Shut(Exception):
    """This process may not write: it does not lead, or no longer."""


Permit = Callable[[], None]
"""Raises Shut when there is no leave."""

_permit: ContextVar[Permit | None] = ContextVar("permit", default=None)


@contextmanager
def permitted(permit: Permit | None) -> Iterator[None]:
    """Requests inside the block call `permit` in the very moment before they leave; what it raises ends them unsent."""
    token = _permit.set(permit)
    try:
        yield
    finally:
        _permit.reset(token)


def present_permit() -> Permit | None:
    """Of the block that this is in; None: nobody need be asked."""
    return _permit.get()


def insist() -> None:
    """Raises Shut when what is to be sent now may not be sent."""
    if (permit := _permit.get()) is not None:
        permit()
