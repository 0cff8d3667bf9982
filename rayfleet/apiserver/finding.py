"""Where a regular expression of Go's is found in a text: leftmost, first alternative first, in time linear in the text (a Pike machine).

Source: https://pkg.go.dev/regexp and https://swtch.com/~rsc/regexp/regexp2.html
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from rayfleet.apiserver.pattern import CLASSES
from rayfleet.apiserver.regular_expression import fault

Test = Callable[[str], bool]
Spot = Callable[[str, int], bool]
Spend = Callable[[int], None]

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CATEGORIES: dict[Any, Test] = {
    c.CATEGORY_DIGIT: lambda sign: sign in "0123456789",
    c.CATEGORY_NOT_DIGIT: lambda sign: sign not in "0123456789",
    c.CATEGORY_SPACE: lambda sign: sign in "\t\n\f\r ",
    c.CATEGORY_NOT_SPACE: lambda sign: sign not in "\t\n\f\r ",
    c.CATEGORY_WORD: lambda sign: sign in _WORD,
    c.CATEGORY_NOT_WORD: lambda sign: sign not in _WORD,
}
_GO = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\x\{(?P<code>[0-9a-fA-F]+)\}|\\(?P<not>[pP])(?:\{(?P<no>\^?)(?P<long>\w+)\}|(?P<short>\w))"
    r"|(?P<end>\\z)|\[:(?P<other>\^?)(?P<named>\w+):\]|\\.",
    re.DOTALL,
)
_PROPERTIES = 0xF0000
"""signs of a private area stand for classes of signs, such as \\pL"""


class Step(NamedTuple):
    """One of: a test of the next sign; a test of the place; other steps to go on with, the better one first; the end (nothing of these)."""

    sign: Test | None = None
    spot: Spot | None = None
    paths: tuple[int, ...] = ()


def _free(steps: int) -> None: ...


class Machine:
    def __init__(self, pattern: str) -> None:
        """Raises ValueError for what is no expression, or not understood here."""
        if wrong := fault(pattern):
            raise ValueError(f"error parsing regexp: {wrong}")
        self._classes: list[Test] = []
        try:
            tree = _parser.parse(_GO.sub(self._of_python, pattern))
        except (re.error, RecursionError):
            raise ValueError(f"not a regular expression that is understood here: {pattern}") from None
        self._steps: list[Step] = []
        self._sequence(tree, tree.state.flags)
        self._steps.append(Step())

    def find(self, text: str, start: int = 0, spend: Spend = _free) -> tuple[int, int] | None:
        """Begin and end of the leftmost match that begins at `start` or later. `spend` is told how many steps are taken, as they are."""
        found = None
        now: dict[int, int] = {}
        for at in range(start, len(text) + 1):
            if found is None:
                self._follow(now, 0, at, text, at)
            ahead: dict[int, int] = {}
            for step, began in now.items():
                test = self._steps[step].sign
                if test is None:
                    found = (began, at)
                    break
                if at < len(text) and test(text[at]):
                    self._follow(ahead, step + 1, began, text, at + 1)
            spend(1 + len(now))
            now = ahead
            if found is not None and not now:
                break
        return found

    def find_all(self, text: str, most: int = -1, spend: Spend = _free) -> list[str]:
        """The matches one after the other; an empty one does not count at the end of another. `most` < 0: all of them."""
        matches: list[str] = []
        at, last = 0, -1
        while at <= len(text) and len(matches) != most and (found := self.find(text, at, spend)) is not None:
            begin, end = found
            if end > at or begin != last:
                matches.append(text[begin:end])
            at, last = (end if end > at else at + 1), end
        return matches

    def _follow(self, threads: dict[int, int], first: int, began: int, text: str, at: int) -> None:
        """Adds the steps that wait for a sign; those that are there already came by a better way."""
        waiting, seen = [first], set[int]()
        while waiting:
            number = waiting.pop()
            if number in seen or number in threads:
                continue
            seen.add(number)
            step = self._steps[number]
            if step.paths:
                waiting.extend(reversed(step.paths))
            elif step.spot is None:
                threads[number] = began
            elif step.spot(text, at):
                waiting.append(number + 1)

    def _of_python(self, found: re.Match[str]) -> str:
        if found["quoted"] is not None:
            return re.escape(found["quoted"])
        if found["code"]:
            return re.escape(chr(int(found["code"], 16)))
        if found["end"]:
            return r"\Z"
        if found["named"]:
            return self._class(_member(re.compile(f"[{CLASSES[found['named']]}]"), bool(found["other"])))
        if name := found["long"] or found["short"]:
            return self._class(_property(name, (found["not"] == "P") != bool(found["no"])))
        return found[0]

    def _class(self, test: Test) -> str:
        self._classes.append(test)
        return chr(_PROPERTIES + len(self._classes) - 1)

    def _sequence(self, tree: Any, flags: int) -> None:
        for operation, given in tree:
            self._emit(operation, given, flags)

    def _emit(self, operation: Any, given: Any, flags: int) -> None:
        if operation is c.SUBPATTERN:
            _, added, removed, inner = given
            self._sequence(inner, (flags | added) & ~removed)
        elif operation is c.BRANCH:
            self._branch(given[1], flags)
        elif operation in (c.MAX_REPEAT, c.MIN_REPEAT):
            self._repeat(*given, flags, greedy=operation is c.MAX_REPEAT)
        elif operation is c.AT:
            self._steps.append(Step(spot=_spot(given, flags)))
        else:
            self._steps.append(Step(sign=self._sign(operation, given, flags)))

    def _branch(self, branches: list[Any], flags: int) -> None:
        ends = []
        for branch in branches[:-1]:
            fork = self._hold()
            self._sequence(branch, flags)
            ends.append(self._hold())
            self._steps[fork] = Step(paths=(fork + 1, len(self._steps)))
        self._sequence(branches[-1], flags)
        for end in ends:
            self._steps[end] = Step(paths=(len(self._steps),))

    def _repeat(self, low: int, high: Any, inner: Any, flags: int, *, greedy: bool) -> None:
        for _ in range(low):
            self._sequence(inner, flags)
        if high is c.MAXREPEAT:
            fork = self._hold()
            self._sequence(inner, flags)
            self._steps.append(Step(paths=(fork,)))
            self._steps[fork] = _fork(fork + 1, len(self._steps), greedy)
            return
        forks = []
        for _ in range(high - low):
            forks.append(self._hold())
            self._sequence(inner, flags)
        for fork in forks:
            self._steps[fork] = _fork(fork + 1, len(self._steps), greedy)

    def _hold(self) -> int:
        """The place of a step that is to come."""
        self._steps.append(Step())
        return len(self._steps) - 1

    def _sign(self, operation: Any, given: Any, flags: int) -> Test:
        if operation is c.ANY:
            return (lambda sign: True) if flags & re.DOTALL else (lambda sign: sign != "\n")
        if operation in (c.LITERAL, c.NOT_LITERAL):
            tests = [self._literal(given)]
        elif operation is c.IN:
            tests = list(self._members(given))
        else:
            raise ValueError(f"not understood here: {operation}")
        if flags & re.IGNORECASE:
            tests = [_either(test) for test in tests]
        negated = operation is c.NOT_LITERAL or (operation is c.IN and given[0][0] is c.NEGATE)
        return lambda sign: any(test(sign) for test in tests) != negated

    def _members(self, given: list[Any]) -> Iterator[Test]:
        for operation, value in given:
            if operation is c.LITERAL:
                yield self._literal(value)
            elif operation is c.RANGE:
                yield _between(*map(chr, value))
            elif operation is c.CATEGORY:
                yield _CATEGORIES[value]

    def _literal(self, code: int) -> Test:
        if 0 <= code - _PROPERTIES < len(self._classes):
            return self._classes[code - _PROPERTIES]
        return chr(code).__eq__


@lru_cache(maxsize=256)
def machine(pattern: str) -> Machine:
    return Machine(pattern)


def _fork(inside: int, beyond: int, greedy: bool) -> Step:
    return Step(paths=(inside, beyond) if greedy else (beyond, inside))


def _between(low: str, high: str) -> Test:
    return lambda sign: low <= sign <= high


def _either(test: Test) -> Test:
    return lambda sign: test(sign) or test(sign.lower()) or test(sign.upper())


def _member(signs: re.Pattern[str], negated: bool) -> Test:
    return lambda sign: bool(signs.match(sign)) != negated


def _property(name: str, negated: bool) -> Test:
    """A general category, such as L or Lu. Raises ValueError for scripts."""
    if len(name) > 2 or name[0] not in "LMNPSZC":
        raise ValueError(f"not understood here: a property named {name}")
    return lambda sign: unicodedata.category(sign).startswith(name) != negated


def _spot(place: Any, flags: int) -> Spot:
    lines = bool(flags & re.MULTILINE)
    if place in (c.AT_BEGINNING, c.AT_BEGINNING_STRING):
        return lambda text, at: at == 0 or (lines and place is c.AT_BEGINNING and text[at - 1] == "\n")
    if place in (c.AT_END, c.AT_END_STRING):
        return lambda text, at: at == len(text) or (lines and place is c.AT_END and text[at] == "\n")
    wanted = place is c.AT_BOUNDARY
    return lambda text, at: (_is_word(text, at - 1) != _is_word(text, at)) == wanted


def _is_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at] in _WORD
