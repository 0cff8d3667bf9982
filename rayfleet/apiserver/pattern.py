"""Go's regular expressions (https://pkg.go.dev/regexp/syntax), searched in time linear in the text, whatever the expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from rayfleet.apiserver.regular_expression import fault

CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-\/:-@\[-`{-~", "space": r"\t\n\x0b\f\r ", "upper": "A-Z",
    "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_SPECIAL = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|$)
    |\\x\{(?P<code>[0-9a-fA-F]+)\}
    |\\(?P<property>[pP])(?P<letter>\w)
    |\\(?P<end>[zA])
    |\[:(?P<named>\w+):\]
    |(?P<group>\(\?P<)""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = re.compile(r"\(\?([ims]+)\)")


def options() -> Any:
    """For validators of jsonschema_rs whose patterns are `linear` ones: an engine that never goes back."""
    import jsonschema_rs

    return jsonschema_rs.RegexOptions()


def found_in(pattern: str, text: str) -> bool:
    """Raises ValueError for what is no expression, or one that is too large."""
    return _searcher(pattern)(text)


@lru_cache(maxsize=512)
def _searcher(pattern: str) -> Callable[[str], bool]:
    import jsonschema_rs

    if wrong := fault(pattern):
        raise ValueError(f"error parsing regexp: {wrong}")
    try:
        search: Callable[[str], bool] = jsonschema_rs.Draft7Validator({"pattern": linear(pattern)}, pattern_options=options()).is_valid
    except jsonschema_rs.ValidationError:
        raise ValueError(f"not a regular expression that is understood here: {pattern}") from None
    return search


@lru_cache(maxsize=512)
def linear(pattern: str) -> str:
    """The same in ECMAScript's syntax."""
    flags = _FLAGS.match(pattern)
    parts = list(_translated(pattern[flags.end() :] if flags else pattern, flags[1] if flags else ""))
    return "".join(parts)


def _translated(pattern: str, flags: str) -> Iterator[str]:
    at, inside = 0, -1
    while at < len(pattern):
        sign = pattern[at]
        if found := _SPECIAL.match(pattern, at):
            yield _special(found)
        elif sign == "\\":
            found = re.compile(r"\\.?", re.DOTALL).match(pattern, at)
            yield pattern[at : at + 2]
        elif inside < 0 and sign == "[":
            # What follows at once is a member, be it a bracket.
            inside = at + (2 if pattern.startswith("[^", at) else 1)
            yield pattern[at:inside]
            at = inside
            if pattern.startswith("]", at):
                yield "\\]"
                at += 1
            continue
        elif inside >= 0 and sign == "]":
            inside = -1
            yield sign
        else:
            yield _plain(sign, flags, inside >= 0, pattern[at + 1 : at + 2])
        at = found.end() if found else at + 1


def _special(found: re.Match[str]) -> str:
    if found["quoted"] is not None:
        return re.sub(r"([\\^$.*+?()[\]{}|/])", r"\\\1", found["quoted"])
    if found["code"]:
        return f"\\u{int(found['code'], 16):04x}" if int(found["code"], 16) < 0x10000 else chr(int(found["code"], 16))
    if found["property"]:
        return f"\\{found['property']}{{{found['letter']}}}"
    if found["end"]:
        return "$" if found["end"] == "z" else "^"
    if found["named"]:
        return CLASSES.get(found["named"], found[0])
    return "(?<"


def _plain(sign: str, flags: str, inside: bool, follower: str) -> str:
    if sign == "." and "s" in flags and not inside:
        return r"[\s\S]"
    if sign in "^$" and "m" in flags and not inside:
        return r"(?:^|\n)" if sign == "^" else r"(?:$|\n)"
    if sign == "[" and inside:
        return "\\["
    if "i" in flags and sign.isalpha() and sign.isascii() and follower != "-":
        return f"{sign.lower()}{sign.upper()}" if inside else f"[{sign.lower()}{sign.upper()}]"
    return sign
