"""Who waits for which cluster: the questions and acts of one object about it, and all of one cluster's."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from rayfleet.api.meta import Key
from rayfleet.permit import Permit
from rayfleet.ray.answer import Act, Addressed, Heard, Question

FIRST = 1.0  # seconds between two askings while answers change

Answered = Callable[[Act, Any], None]


class Listener(Protocol):
    """Hears whose answers have changed."""

    def heard(self, key: Key) -> None: ...


@dataclass(slots=True)
class Track:
    """One question of one follower. What was heard has its times in the monotonic clock's."""

    due: float
    pause: float = FIRST
    heard: Heard | None = None


@dataclass(slots=True, eq=False)
class Follower:
    """Who asks about one cluster on behalf of one object. `looked`: when it was last told what was heard, in the monotonic clock's time."""

    key: Key
    desk: Listener
    target: Addressed
    tracks: dict[Question, Track] = field(default_factory=dict)
    acts: deque[tuple[Act, Answered | None, Permit | None]] = field(default_factory=deque)
    sending: Act | None = None
    results: OrderedDict[Act, Heard] = field(default_factory=OrderedDict)
    looked: float = float("inf")

    def turn_to(self, target: Addressed, now: float) -> None:
        """Another head has taken the place of the one before: what that said is no answer of this one, which is asked at once."""
        self.target = target
        for track in self.tracks.values():
            track.heard = None
        self.hurry(now)

    def hurry(self, now: float, *, lasting: bool = True) -> None:
        """Something happened: what there is to hear is heard soon. `lasting`: also what else stays as it is."""
        for question, track in self.tracks.items():
            if lasting or not question.lasting:
                track.due, track.pause = min(track.due, now), FIRST

    def next_due(self, never: float) -> float:
        if self.acts:
            return float("-inf")
        return min((track.due for track in self.tracks.values()), default=never)


@dataclass(slots=True, eq=False)
class Lane:
    """One cluster: its followers, and whether a call to it is under way. `silent`: its dashboard did not answer the last question."""

    followers: list[Follower] = field(default_factory=list)
    busy: bool = False
    ready: bool = False
    silent: bool = False
    rests_until: float = 0.0

    def awake(self) -> None:
        self.silent, self.rests_until = False, 0.0

    def hung(self, now: float, pause: float) -> None:
        """Who hangs over one question hangs over the next: between two of them it rests, the less the more there are."""
        questions = sum(len(follower.tracks) for follower in self.followers)
        self.silent, self.rests_until = True, now + 2 * pause / max(questions, 2)

    def next_due(self, never: float) -> float:
        """When the next call is due; an act waits for nothing."""
        due = min((follower.next_due(never) for follower in self.followers), default=never)
        return due if due == float("-inf") else max(due, self.rests_until)
