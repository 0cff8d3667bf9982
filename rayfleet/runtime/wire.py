"""Lists and watch events as the API sends them, decoded in one pass into slim objects.

A bookmark's object has a version and nothing else, and an ERROR's is a Status: both are told apart by the event's type, so that neither can
be taken for an object. An object that does not fit its type is told by name, and spoils nothing but itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from rayfleet.api.meta import ObjectMeta
from rayfleet.kube.errors import Status, Unreachable
from rayfleet.runtime.compact import shrinker


class HasMetadata(Protocol):
    """What every cached struct has."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)


class Stub(msgspec.Struct, frozen=True, gc=False):
    """Any object, its metadata only."""

    metadata: ObjectMeta = ObjectMeta()


class Added(msgspec.Struct, Generic[T], frozen=True, gc=False, tag_field="type", tag="ADDED"):
    object: T


class Modified(msgspec.Struct, Generic[T], frozen=True, gc=False, tag_field="type", tag="MODIFIED"):
    object: T


class Deleted(msgspec.Struct, Generic[T], frozen=True, gc=False, tag_field="type", tag="DELETED"):
    object: T


class Bookmark(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="BOOKMARK"):
    object: Stub


class Failure(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="ERROR"):
    object: Status


class ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, Generic[T], frozen=True, gc=False):
    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] | None = None


@dataclass(frozen=True, slots=True)
class Undecodable:
    """An object that does not fit its type; `gone` when it is told of because it was deleted."""

    metadata: ObjectMeta
    reason: str
    gone: bool = False


class Codec(Generic[T]):
    """Decodes the lists and watch events of one type."""

    def __init__(self, type: type[T]) -> None:
        kind: Any = type
        self._event = msgspec.json.Decoder(Added[kind] | Modified[kind] | Deleted[kind] | Bookmark | Failure)
        self._rough_event = msgspec.json.Decoder(Added[Stub] | Modified[Stub] | Deleted[Stub] | Bookmark | Failure)
        self._page = msgspec.json.Decoder(Page[kind])
        self._rough_page = msgspec.json.Decoder(Page[msgspec.Raw])  # type: ignore[type-var]
        self._object = msgspec.json.Decoder(kind)
        self._shrink = shrinker(kind) or (lambda value: value)

    def event(self, line: bytes) -> Added[T] | Modified[T] | Deleted[T] | Bookmark | Failure | Undecodable:
        """One line of a watch. Raises Unreachable when it is no event at all."""
        try:
            event = self._event.decode(line)
        except msgspec.ValidationError as error:
            return self._rough(line, str(error))
        except msgspec.DecodeError as error:
            raise Unreachable(f"a watch sent what is no JSON: {error}", "BadAnswer") from error
        if not isinstance(event, Bookmark | Failure):
            self._shrink(event.object)
        return event

    def page(self, content: bytes) -> tuple[ListMeta, list[T | Undecodable]]:
        """One page of a list. Raises Unreachable when it is no list at all."""
        try:
            page = self._page.decode(content)
        except msgspec.ValidationError:
            return self._rough_list(content)
        except msgspec.DecodeError as error:
            raise Unreachable(f"a list is no JSON: {error}", "BadAnswer") from error
        return page.metadata, [self._shrink(item) for item in page.items or ()]

    def _rough(self, line: bytes, reason: str) -> Undecodable:
        try:
            event = self._rough_event.decode(line)
        except msgspec.MsgspecError as error:
            raise Unreachable(f"a watch sent an event of an unknown form: {error}", "BadAnswer") from error
        return Undecodable(event.object.metadata, reason, isinstance(event, Deleted))

    def _rough_list(self, content: bytes) -> tuple[ListMeta, list[T | Undecodable]]:
        try:
            page = self._rough_page.decode(content)
            return page.metadata, [self._one(raw) for raw in page.items or ()]
        except msgspec.MsgspecError as error:
            raise Unreachable(f"a list of an unknown form: {error}", "BadAnswer") from error

    def _one(self, raw: msgspec.Raw) -> T | Undecodable:
        try:
            return self._shrink(self._object.decode(raw))
        except msgspec.ValidationError as error:
            return Undecodable(msgspec.json.decode(raw, type=Stub).metadata, str(error))
