"""What a conversion gives: objects of today, and what is to be known about them."""

from __future__ import annotations

from typing import Any

import msgspec

Obj = dict[str, Any]


class Note(msgspec.Struct, frozen=True, order=True):
    """`path` is that of the old document. `lost`: it meant something that the new objects do not say; `advice` is what to do instead."""

    path: str
    said: str
    advice: str = ""
    lost: bool = False

    def __str__(self) -> str:
        text = f"{self.path}: {self.said}" if self.path else self.said
        return f"{text}; {self.advice}" if self.advice else text


class Converted(msgspec.Struct, frozen=True):
    """`objects` are manifests, in the order in which they are to be applied."""

    objects: tuple[Obj, ...] = ()
    notes: tuple[Note, ...] = ()


class Inconvertible(ValueError):
    """The document is of no old format that can be converted; the text says what it is."""
