"""What is asked of Ray and what was heard, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from rayfleet.api.excerpt import tail
from rayfleet.api.meta import Key


@dataclass(frozen=True, slots=True)
class Target:
    """The head of one cluster. `secret` names the Secret that holds its token ("": it asks for none), in the cluster's namespace.

    `service`, `pod` and `address` (of the Pod, "" while unknown) are three ways to it; ports are those of the dashboard unless a call has
    its own.
    """

    cluster: Key
    service: str
    address: str = ""
    port: int = 8265
    secret: str = ""
    pod: str = ""


class Addressed(Protocol):
    """Where a cluster is to be spoken to, in whatever way."""

    @property
    def cluster(self) -> Key: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A GET that changes nothing. The answer is decoded as `type` (bytes: as it came). `port` 0 is the dashboard's. `lasting`: what it says
    is the same for as long as the head lives. `amid`: what else was so when it was asked; once that is another, the question is a new one,
    and what was heard before no answer to it."""

    path: str
    type: Any
    port: int = 0
    lasting: bool = False
    amid: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """A request that changes something. Two equal ones are the same act: it is not sent again while it waits or is under way.

    `done_before` is what an error says that means that it was done already.
    """

    method: str
    path: str
    body: bytes = b""
    done_before: str = ""

    def __repr__(self) -> str:
        return f"Act({self.method} {self.path})"  # a body may hold what is nobody's business


@dataclass(frozen=True, slots=True)
class Accepted:
    """Ray took an act over; `content` is what it said."""

    content: bytes = b""


@dataclass(frozen=True, slots=True)
class NotFound:
    """Ray answered, and knows of no such thing."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No answer, or none that can be Ray's. The text is not compared: it changes from one try to the next."""

    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unreachable)

    def __hash__(self) -> int:
        return hash(Unreachable)


@dataclass(frozen=True, slots=True)
class Refused:
    """Ray answered with an error of its own. The text is not compared: it may name a time or a process."""

    code: int
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer: a value of the question's type, or what came in its place. `at`: when it was last given, `since`: when it was first given
    without another one between (both in seconds since 1970)."""

    answer: Any
    at: float
    since: float

    def age(self, now: float) -> float:
        """Seconds since it was last given; a clock that was set back makes nothing younger than new."""
        return max(now - self.at, 0.0)


def read(question: Question, status: int, content: bytes) -> Any:
    """What an HTTP answer says. Never raises: what cannot be understood is Unreachable, for nobody knows who spoke."""
    if status == 404:
        return NotFound()
    if not 200 <= status < 300:
        return Refused(status, plain(content))
    if question.type is bytes:
        return content
    try:
        return msgspec.json.decode(content, type=question.type)
    except msgspec.MsgspecError as error:
        return Unreachable(f"GET {question.path} gave what is no answer of Ray: {error}")


def taken(act: Act, status: int, content: bytes) -> Any:
    """What the answer to an act says: Accepted, NotFound, Refused or Unreachable. Ray takes over in JSON, or without a word: whoever says
    something else with a 200 is not Ray, and whether it heard is not known."""
    if status == 404:
        return NotFound()
    if act.done_before and act.done_before in content.decode(errors="replace"):
        return Accepted(content)
    if not 200 <= status < 300:
        return Refused(status, plain(content))
    return Accepted(content) if not content.strip() or is_json(content) else Unreachable(f"{act} gave what is no answer of Ray")


def is_json(content: bytes) -> bool:
    try:
        msgspec.json.decode(content, type=msgspec.Raw)
    except msgspec.MsgspecError:
        return False
    return True


def complaint(answer: Any) -> str:
    """Why an act did not succeed, as a sentence; "" when it did."""
    if isinstance(answer, Accepted):
        return ""
    if isinstance(answer, Refused):
        return f"Ray answered {answer.code}: {answer.text}"
    return "Ray knows of no such thing" if isinstance(answer, NotFound) else f"Ray does not answer: {answer.text}"


def plain(content: bytes) -> str:
    """The end of an error's text: of a traceback the last line says most."""
    return tail(content.decode(errors="replace"))
