"""What expressions come to. That Kubernetes comes to the same is shown in tests/conformance (cases `expressions-*`)."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.apiserver.cel.program import Program
from rayfleet.apiserver.cel.syntax import Unreadable
from rayfleet.apiserver.cel.values import Exhausted, Failure
from rayfleet.apiserver.pattern import found_in
from rayfleet.apiserver.regular_expression import fault
from rayfleet.apiserver.rules import Rules

SELF = {"a": 1, "b": {"c": [1, 2, 3]}, "x-y": "z", "empty": [], "null": None}

TRUE = [
    "self.a + 1 == 2 && -7 / 2 == -3 && -7 % 2 == -1 && 7.0 / 2.0 == 3.5",
    "1 == 1.0 && 1u == 1 && !(true == 1) && 'a' != 1",
    "-9223372036854775808 < 9223372036854775807 && 0xff == 255",
    "self.x__dash__y == 'z' && has(self.b.c) && !has(self.nope)",
    "self.?nope.deeper.orValue(5) == 5 && self.?b.c[?1].value() == 2 && !self.b.c[?7].hasValue()",
    "optional.of(3).optMap(x, x + 1).value() == 4 && [?optional.none(), 1] == [1] && size({?'a': optional.none()}) == 0",
    "self.nope == 1 || true",
    "!(false && self.nope == 1)",
    "self.b.c.exists(x, x / 0 == 1 || x == 3)",
    "self.b.c.map(x, x > 1, x * 2) == [4, 6] && self.b.c.filter(x, x > 1) == [2, 3]",
    "self.b.c.all(i, v, v == i + 1) && {'a': 1}.all(k, v, k == 'a' && v == 1)",
    "self.b.c.exists_one(x, x == 2) && self.b.exists(k, k == 'c')",
    "[1, 2].transformList(i, v, i + v) == [1, 3] && {'a': 1}.transformMap(k, v, v + 1)['a'] == 2",
    "cel.bind(x, 2, x * x) == 4",
    "r'\\d' == '\\\\d' && '''it's''' == \"it's\" && b'\\x41' == b'A' && '\\u00e9' == 'é' && size('é') == 1",
    "'a,b'.split(',').join('-') == 'a-b' && 'abc'.substring(1) == 'bc' && 'Ab'.lowerAscii() == 'ab' && ' a '.trim() == 'a'",
    "'%s has %d, %.1f and %x'.format(['a', 2, 1.25, 255]) == 'a has 2, 1.2 and ff'",
    "duration('90m') == duration('1h30m') && duration('1h').getMinutes() == 60",
    "timestamp('2024-02-29T12:00:00Z') + duration('24h') == timestamp('2024-03-01T12:00:00Z')",
    "timestamp('2024-02-29T12:00:00Z').getMonth() == 1 && timestamp('2024-02-29T23:30:00Z').getDate('+01:00') == 1",
    "quantity('1') == quantity('1000m') && quantity('2Gi').isGreaterThan(quantity('1G')) && quantity('1').add(2).asInteger() == 3",
    "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1') && !isIP('10.0.0') && isCIDR('::/0')",
    "url('https://a.b:80/x?y=1').getHostname() == 'a.b' && url('https://a.b:80/x?y=1').getPort() == '80'",
    "sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])",
    "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].isSorted() && [1, 2].sum() == 3 && [1, 2].max() == 2 && [1, 1].distinct() == [1]",
    "'abc'.matches('^(a+)+b') && int('7') == 7 && string(1.5) == '1.5' && double('2') == 2.0 && type(1) == int",
    "self.null == null && 2 in self.b.c && 'c' in self.b && self.`x-y` == 'z'",
]
WRONG = {
    "9223372036854775807 + 1": "integer overflow",
    "1 / 0": "division by zero",
    "self.nope": "no such key: nope",
    "[1][3]": "index out of bounds: 3",
    "1 + 'a'": "no such overload",
    "'a'.nothing()": "no such overload",
    "quantity('x')": "is no quantity",
    "optional.none().value()": "dereference",
}
COSTLY = {
    "three loops in one another": ("l.all(a, l.all(b, l.all(c, a + b + c > 0)))", {"l": [1] * 1000}),
    "long texts, each with each": ("l.all(a, l.all(b, a == b))", {"l": ["x" * 1000] * 1000}),
    "each with each": ("sets.contains(l, l)", {"l": list(range(3000))}),
    "a long text, again and again": ("l.map(a, " * 3 + "t.matches('x')" + ")" * 3 + " == []", {"l": [1] * 50, "t": "y" * 1000}),
    "hidden by an or": ("l.exists(a, l.exists(b, l.exists(c, c == 2))) || true", {"l": [1] * 1000}),
}


@pytest.mark.parametrize("text", TRUE)
def test_is_true(text: str) -> None:
    assert Program(text).execute({"self": SELF}) is True


@pytest.mark.parametrize("text", WRONG)
def test_comes_to_nothing(text: str) -> None:
    with pytest.raises(Failure, match=WRONG[text]):
        Program(text).execute({"self": SELF})


@pytest.mark.parametrize("name", COSTLY)
def test_what_costs_too_much_is_cut_off(name: str) -> None:
    text, names = COSTLY[name]
    with pytest.raises(Exhausted):
        Program(text).execute(names)


@pytest.mark.parametrize("text", ["self.", "a ==", "(" * 5000, "1 +* 2", "'open", "self.all(x, "])
def test_is_no_expression(text: str) -> None:
    with pytest.raises(Unreadable):
        Program(text)


SEARCHES: list[tuple[str, str, str]] = [
    (r"(?i)^abc$", "aBc", "abd"),
    (r"^[[:alpha:]]+$", "aZ", "a1"),
    (r"^\pL+$", "é", "1"),
    (r"a\z", "ba", "ab"),
    (r"^(?P<x>b)$", "b", "c"),
    (r"\Qa.b\E", "a.b", "axb"),
    (r"\x{41}", "A", "B"),
    (r"^[]a]$", "]", "b"),
    (r"^[^]a]$", "b", "]"),
    (r"(?s)^.$", "\n", "aa"),
    (r"^(a+)+$", "a" * 50_000, "a" * 50_000 + "b"),
    (r"^(a|a)*$", "a" * 50_000, "a" * 50_000 + "b"),
]


@pytest.mark.parametrize(("pattern", "good", "bad"), SEARCHES, ids=[pattern for pattern, _, _ in SEARCHES])
def test_expressions_of_go_are_searched_in_linear_time(pattern: str, good: str, bad: str) -> None:
    assert fault(pattern) is None
    assert found_in(pattern, good)
    assert not found_in(pattern, bad)


@pytest.mark.parametrize("pattern", [r"(a)\1", "(a{1000}){1000}", "(?=a)", "a{1001}", "(" * 2000 + ")" * 2000, "a**", "("])
def test_expressions_that_go_has_not_are_refused(pattern: str) -> None:
    assert fault(pattern)


def test_a_value_is_seen_as_its_schema_says() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.ratio * 2.0 == 6.0 && self.when < timestamp('2030-01-01T00:00:00Z') && self.wait == duration('1m')"},
            {"rule": "oldSelf.optMap(o, o.ratio <= self.ratio).orValue(true)", "optionalOldSelf": True},
        ],
        "properties": {
            "ratio": {"type": "number"},
            "when": {"type": "string", "format": "date-time"},
            "wait": {"type": "string", "format": "duration"},
        },
    }
    good = {"ratio": 3, "when": "2024-01-01T00:00:00Z", "wait": "60s"}
    assert Rules(schema).check(good, None) == []
    assert len(Rules(schema).check({**good, "ratio": 2}, good)) == 2
