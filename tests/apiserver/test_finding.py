"""Where expressions are found: as Python finds them, where both mean the same, and never in more steps than signs times steps."""

from __future__ import annotations

import random
import re

import pytest

from rayfleet.apiserver.cel.program import program
from rayfleet.apiserver.cel.values import Exhausted
from rayfleet.apiserver.finding import Machine

PARTS = ("a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", "1", "^", "$", r"\b")
LOOPS = ("*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}", "{0,2}?", "{1,}")


def drawn(dice: random.Random, depth: int = 0) -> str:
    kind = dice.random()
    if depth > 3 or kind < 0.4:
        return dice.choice(PARTS)
    if kind < 0.55:
        return drawn(dice, depth + 1) + drawn(dice, depth + 1)
    if kind < 0.8:
        return f"(?:{drawn(dice, depth + 1)}|{drawn(dice, depth + 1)})"
    return dice.choice(("a", "[ab]", "(?:ab|a)", "(b|bc)", ".")) + dice.choice(LOOPS)


def test_what_python_finds_is_found() -> None:
    dice = random.Random(7)
    for _ in range(3000):
        pattern, text = drawn(dice), "".join(dice.choices("abc1 ", k=dice.randrange(9)))
        wanted = re.search(pattern, text)
        assert Machine(pattern).find(text) == (wanted.span() if wanted else None), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\pL+", "12éa3", ["éa"]),
        (r"[\p{Lu}\d]+", "aÉ1b", ["É1"]),
        (r"\PL", "a1", ["1"]),
        ("[[:digit:]_]+", "a12_b", ["12_"]),
        (r"\Qa.b\E+", "a.bb", ["a.bb"]),
        (r"\x{e9}", "é", ["é"]),
        ("(?i)ab", "xAB ab", ["AB", "ab"]),
        ("(?s)a.b", "a\nb", ["a\nb"]),
        ("(?m)^b$", "a\nb\nc", ["b"]),
        ("(?P<n>a)(?:b)", "ab", ["ab"]),
        (r"b\z", "b\nb", ["b"]),
        ("", "ab", ["", "", ""]),
    ],
)
def test_what_go_alone_writes_is_found(pattern: str, text: str, found: list[str]) -> None:
    assert Machine(pattern).find_all(text) == found


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){10}$", "a|a.*z"])
def test_steps_are_counted_as_they_are_taken(pattern: str) -> None:
    taken: list[int] = []
    Machine(pattern).find("a" * 500 + "b", spend=taken.append)
    assert sum(taken) < 501 * 100


@pytest.mark.parametrize("rule", ["self.findAll('a|a.*z').size() > 0", "self.find('(a|aa)+$') == ''"])
def test_a_rule_that_searches_too_long_is_cut_off(rule: str) -> None:
    with pytest.raises(Exhausted):
        program(rule).execute({"self": "a" * 300_000})
