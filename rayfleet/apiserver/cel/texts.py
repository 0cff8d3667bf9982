"""Functions of strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rayfleet.apiserver.cel.values import Failure, NoOverload, type_of

_UPPER = {letter: letter - 32 for letter in range(ord("a"), ord("z") + 1)}
_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}
_BLANK = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
_LONGEST = 16 << 20
"""letters that a text may come to have"""


def number_text(value: float) -> str:
    """As Go prints it: 1e+06 has no point, and whole doubles none either."""
    if isinstance(value, int):
        return str(int(value))
    text = repr(value)
    return text.removesuffix(".0")


def _at(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise Failure(f"index out of range: {place}")
    return text[place : place + 1]


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(text) * max(len(new), 1) > _LONGEST:
        raise Failure("the text would be too long")
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        letters = list(text)
        return letters if limit < 0 or limit >= len(letters) else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise Failure(f"index out of range: {start}")
    if not 0 <= end <= len(text):
        raise Failure(f"index out of range: {end}")
    if start > end:
        raise Failure(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _join(parts: list[str], separator: str = "") -> str:
    if not isinstance(parts, list) or not all(isinstance(each, str) for each in parts):
        raise NoOverload
    if len(parts) * len(separator) > _LONGEST:
        raise Failure("the text would be too long")
    return separator.join(parts)


def _format(text: str, given: list[Any]) -> str:
    """%s %d %f %e %b %o %x %X %%, each with a precision where it makes sense."""
    parts, at, used = [], 0, 0
    while (sign := text.find("%", at)) >= 0:
        parts.append(text[at:sign])
        end = sign + 1
        while end < len(text) and (text[end].isdecimal() or text[end] == "."):
            end += 1
        if end == len(text):
            raise Failure("could not parse formatting clause: unexpected end of string")
        if text[end] == "%":
            parts.append("%")
        else:
            if used >= len(given):
                raise Failure(f"index {used} out of range")
            parts.append(_clause(text[end], text[sign + 1 : end], given[used]))
            used += 1
        at = end + 1
    return "".join((*parts, text[at:]))


def _clause(letter: str, precision: str, value: Any) -> str:
    if len(precision) > 4:
        raise Failure("could not parse formatting clause: error while parsing precision")
    if letter == "s":
        return _shown(value)
    if letter == "d":
        return str(int(value))
    if letter == "f":
        return format(float(value), f"{precision or '.6'}f")
    if letter == "e":
        mantissa, _, exponent = format(float(value), f"{precision or '.6'}e").partition("e")
        return f"{mantissa}\u00d710{exponent.lstrip('+').translate(_RAISED)}"
    if letter in "boxX":
        if letter in "xX" and isinstance(value, (str, bytes)):
            raw = (value.encode() if isinstance(value, str) else value).hex()
            return raw.upper() if letter == "X" else raw
        return format(int(value), letter)
    raise Failure(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')


def _inner(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return f"[{', '.join(map(_inner, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_inner(key)}:{_inner(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (int, float)):
        return number_text(value)
    raise Failure(f"error during formatting: string clause can only be used on strings, ... was given {type_of(value)}")


METHODS: dict[str, Callable[..., Any]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
    "charAt": _at,
    "lowerAscii": lambda text: text.translate(_LOWER),
    "upperAscii": lambda text: text.translate(_UPPER),
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "trim": lambda text: text.strip(_BLANK),
    "join": _join,
    "format": _format,
}
