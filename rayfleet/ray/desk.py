"""One kind's way to the pool: what its objects want to know of which clusters, and what was heard so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rayfleet.api.meta import Key
from rayfleet.permit import present_permit
from rayfleet.ray.answer import Act, Addressed, Heard, Question, complaint
from rayfleet.ray.lane import Answered, Follower, Track

if TYPE_CHECKING:
    from rayfleet.ray.pool import Pool


class Desk:
    """One kind's way to the pool: its objects are known by key, and may each be about several clusters. `subscribe` hears whose answers
    have changed."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._followers: dict[Key, dict[Key, Follower]] = {}
        self._listeners: list[Callable[[Key], None]] = []

    def subscribe(self, listener: Callable[[Key], None]) -> None:
        self._listeners.append(listener)

    def heard(self, key: Key) -> None:
        for listener in self._listeners:
            listener(key)

    def follow(self, key: Key, target: Addressed, questions: Iterable[Question]) -> Mapping[Question, Heard]:
        """Ask these from now on, and no others, on behalf of the object; gives what was heard so far. Returns at once."""
        return self.follow_all(key, [(target, questions)])[target.cluster]

    def follow_all(self, key: Key, targets: Iterable[tuple[Addressed, Iterable[Question]]]) -> Mapping[Key, Mapping[Question, Heard]]:
        """The same of several clusters at once; what was heard so far by cluster. What another cluster said is no answer: those that are
        not named are forgotten."""
        wanted = list(targets)
        named = {target.cluster for target, _ in wanted}
        for cluster in [cluster for cluster in self._followers.get(key, ()) if cluster not in named]:
            self._drop(key, cluster)
        return {target.cluster: self._ask(self._follower(key, target), questions) for target, questions in wanted}

    def last(self, key: Key, cluster: Key) -> Mapping[Question, Heard]:
        """What was heard so far of what is asked; nothing is changed."""
        follower = self._followers.get(key, {}).get(cluster)
        tracks = follower.tracks.items() if follower else ()
        return {question: self._pool.dated(track.heard) for question, track in tracks if track.heard is not None}

    def act(self, key: Key, target: Addressed, act: Act, answered: Answered | None = None) -> None:
        """Have it sent, in its turn, if it may still be sent then (`permit`). `answered(act, answer)` hears what became of it;
        `results` keeps it."""
        follower = self._follower(key, target)
        if act == follower.sending or any(act == waiting for waiting, *_ in follower.acts):
            return
        follower.results.pop(act, None)
        follower.acts.append((act, answered, present_permit()))
        self._pool.touch(follower)

    def send(self, key: Key, target: Addressed, message: Act, told: Callable[[str], None]) -> None:
        """As `act`; `told` hears why it did not succeed, "" when it did. What was answered since the object's last look is not sent again:
        who decided on it had not heard of that, and looks again because of it."""
        follower = self._followers.get(key, {}).get(target.cluster)
        answer = follower.results.get(message) if follower else None
        if follower and answer and answer.at > follower.looked:
            return
        self.act(key, target, message, lambda _, answer: told(complaint(answer)))

    def results(self, key: Key, cluster: Key) -> Mapping[Act, Heard]:
        """What became of the last acts on that cluster on behalf of the object, the latest one last."""
        follower = self._followers.get(key, {}).get(cluster)
        return {act: self._pool.dated(heard) for act, heard in follower.results.items()} if follower else {}

    def forget(self, key: Key) -> None:
        """Nothing is asked for the object any more. An act that waits is not sent; one that is under way is not awaited."""
        for cluster in list(self._followers.get(key, ())):
            self._drop(key, cluster)

    def rest(self) -> None:
        """Nothing is asked for any object until it is followed again."""
        for key in list(self._followers):
            self.forget(key)

    def _drop(self, key: Key, cluster: Key) -> None:
        follower = self._followers[key].pop(cluster)
        if not self._followers[key]:
            del self._followers[key]
        follower.tracks.clear()
        follower.acts.clear()
        self._pool.leave(follower)

    def _ask(self, follower: Follower, questions: Iterable[Question]) -> Mapping[Question, Heard]:
        wanted, follower.looked = tuple(questions), self._pool.now()
        for question in follower.tracks.keys() - set(wanted):
            del follower.tracks[question]
        new = [question for question in wanted if question not in follower.tracks]
        for question in new:
            follower.tracks[question] = Track(self._pool.now())
        if new:
            self._pool.touch(follower)
        return self.last(follower.key, follower.target.cluster)

    def _follower(self, key: Key, target: Addressed) -> Follower:
        """A head that came back is asked at once."""
        follower = self._followers.get(key, {}).get(target.cluster)
        if follower is None:
            follower = Follower(key, self, target)
            self._followers.setdefault(key, {})[target.cluster] = follower
            self._pool.enter(follower)
        elif follower.target != target:
            follower.turn_to(target, self._pool.now())
            self._pool.touch(follower)
        return follower
