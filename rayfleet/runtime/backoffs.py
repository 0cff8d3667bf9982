"""What went wrong lately, by object and scope, as the planner's observation.

Kept in the process only, on purpose: after a restart everything is tried once at once, which is what a person who restarts wants.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from rayfleet.api.meta import Key
from rayfleet.planning.backoff import FORGOTTEN_AFTER, LONGEST_RETRY, Backoff, retry_delay

ROUNDING = 1e-3  # the planner sees times of the wall's clock, which a float holds to a microsecond only
Scopes = dict[str, Backoff]
NONE: Mapping[str, Backoff] = MappingProxyType({})


class Backoffs:
    """Failures end with a success in their scope; setbacks (repairs) outlive it, since what was repaired must prove itself first.

    Times are monotonic: a wall clock that is set forth and back again must hold nobody back.
    """

    def __init__(self) -> None:
        self._failures: dict[Key, Scopes] = {}
        self._setbacks: dict[Key, Scopes] = {}

    def of(self, key: Key, now: float) -> Mapping[str, Backoff]:
        """What is held against an object, by scope."""
        self._expire(key, now)
        failures, setbacks = self._failures.get(key, {}), self._setbacks.get(key, {})
        if not failures and not setbacks:
            return NONE
        held = dict(setbacks)
        for scope, failure in failures.items():
            other = setbacks.get(scope)
            retry_at = max(failure.retry_at, other.retry_at) if other else failure.retry_at
            held[scope] = Backoff(scope, failure.attempts, retry_at, failure.message, failure.event)
        return MappingProxyType(held)

    def failed(self, key: Key, scope: str, message: str, event: str, now: float, retry_after: float | None = None) -> Backoff:
        """Count a failure: the next attempt is due after 5 s, 10 s, ... 300 s, or later if the server asks for it."""
        attempts = attempts_of(self._failures, key, scope) + 1
        wait = max(retry_delay(attempts), min(retry_after or 0.0, LONGEST_RETRY))
        return keep(self._failures, key, Backoff(scope, attempts, now + wait, message, event))

    def setback(self, key: Key, scope: str, message: str, now: float) -> Backoff:
        """Count a repair: the first is free, then 5 s, 10 s, ... 300 s. Forgotten when long enough nothing had to be repaired."""
        attempts = attempts_of(self._setbacks, key, scope) + 1
        return keep(self._setbacks, key, Backoff(scope, attempts, now + retry_delay(attempts, free=1), message))

    def succeeded(self, key: Key, scope: str) -> None:
        """Forget the scope's failures."""
        scopes = self._failures.get(key)
        if scopes and scopes.pop(scope, None) and not scopes:
            del self._failures[key]

    def hurry(self, key: Key, now: float) -> None:
        """The object was edited: whatever was refused may be tried again at once. How often it was refused is kept."""
        for scope, failure in self._failures.get(key, {}).items():
            self._failures[key][scope] = replace(failure, retry_at=min(failure.retry_at, now))

    def settle(self, key: Key, wanted: Collection[str], now: float) -> bool:
        """Forget failures that are due again in scopes where the planner, free to act, wants nothing any more; True if there were any."""
        scopes = self._failures.get(key, {})
        over = [scope for scope, failure in scopes.items() if failure.retry_at <= now + ROUNDING and scope not in wanted]
        for scope in over:
            self.succeeded(key, scope)
        return bool(over)

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._failures.pop(key, None)
        self._setbacks.pop(key, None)

    def _expire(self, key: Key, now: float) -> None:
        scopes = self._setbacks.get(key)
        if not scopes:
            return
        for scope, found in list(scopes.items()):
            if now >= found.retry_at + FORGOTTEN_AFTER:
                del scopes[scope]
        if not scopes:
            del self._setbacks[key]


def attempts_of(known: dict[Key, Scopes], key: Key, scope: str) -> int:
    found = known.get(key, {}).get(scope)
    return found.attempts if found else 0


def keep(known: dict[Key, Scopes], key: Key, backoff: Backoff) -> Backoff:
    known.setdefault(key, {})[backoff.scope] = backoff
    return backoff
