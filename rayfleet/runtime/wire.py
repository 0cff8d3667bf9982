"""Lists and watch events as the API sends them, decoded in one pass into slim objects.

A bookmark's object has a version and nothing else, and an ERROR's is a Status: both are told apart by the event's type, so that neither can
be taken for an object. An object that does not fit its type is told by name, and spoils nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Raw

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
class Misfit:
    """An object that does not fit its type, by its metadata."""

    metadata: ObjectMeta
    reason: str


Event = Added[T] | Modified[T] | Deleted[T] | Bookmark | Failure | Misfit


class Codec(Generic[T]):
    """Decodes the lists and watch events of one type; `decode` is for types that take more than msgspec to decode."""

    def __init__(self, type: type[T], decode: Callable[[bytes], T] | None = None) -> None:
        kind: Any = type
        self._one = decode or msgspec.json.Decoder(kind).decode
        self._shrink = shrinker(kind) or (lambda value: value)
        self._kind = kind
        direct: Any = Raw if decode else kind
        self._direct = decode is None
        self._event = msgspec.json.Decoder(events_of(direct))
        self._page = msgspec.json.Decoder(Page[direct])
        self._rough_event = msgspec.json.Decoder(events_of(Raw))
        self._rough_page = msgspec.json.Decoder(Page[Raw])  # type: ignore[type-var]

    def event(self, line: bytes) -> Event[T]:
        """One line of a watch. Raises Unreachable when it is no event at all."""
        try:
            event = self._event.decode(line)
        except msgspec.ValidationError:
            return self._rough(line)
        except msgspec.DecodeError as error:
            raise Unreachable(f"a watch sent what is no JSON: {error}", "BadAnswer") from error
        if isinstance(event, Bookmark | Failure):
            return event
        if self._direct:
            self._shrink(event.object)
            return event
        return self._finished(event)

    def page(self, content: bytes) -> tuple[ListMeta, list[T | Misfit]]:
        """One page of a list. Raises Unreachable when it is no list at all."""
        try:
            page = self._page.decode(content)
        except msgspec.ValidationError:
            return self._rough_list(content)
        except msgspec.DecodeError as error:
            raise Unreachable(f"a list is no JSON: {error}", "BadAnswer") from error
        return page.metadata, [self._shrink(item) if self._direct else self._object(item) for item in page.items or ()]

    def _rough(self, line: bytes) -> Event[T]:
        try:
            event = self._rough_event.decode(line)
            return event if isinstance(event, Bookmark | Failure) else self._finished(event)
        except msgspec.MsgspecError as error:
            raise Unreachable(f"a watch sent an event of an unknown form: {error}", "BadAnswer") from error

    def _finished(self, event: Any) -> Event[T]:
        """An event whose object is still raw. What is gone need not be read whole."""
        if isinstance(event, Deleted):
            stub: Any = msgspec.json.decode(event.object, type=Stub)
            return Deleted(stub)
        value = self._object(event.object)
        return value if isinstance(value, Misfit) else type(event)(value)

    def _rough_list(self, content: bytes) -> tuple[ListMeta, list[T | Misfit]]:
        try:
            page = self._rough_page.decode(content)
            return page.metadata, [self._object(raw) for raw in page.items or ()]
        except msgspec.MsgspecError as error:
            raise Unreachable(f"a list of an unknown form: {error}", "BadAnswer") from error

    def _object(self, raw: Raw) -> T | Misfit:
        try:
            value = self._one(bytes(raw))
            return self._shrink(value) if isinstance(value, self._kind) else value
        except msgspec.ValidationError as error:
            return Misfit(msgspec.json.decode(raw, type=Stub).metadata, str(error))


def events_of(kind: Any) -> Any:
    return Added[kind] | Modified[kind] | Deleted[kind] | Bookmark | Failure
