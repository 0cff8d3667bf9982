"""Numbers and texts as CEL writes them (https://github.com/google/cel-spec/blob/master/doc/langdef.md#string-and-bytes-values)."""

from __future__ import annotations

import re

from rayfleet.apiserver.cel.values import INTS, UINTS, Failure, Uint

_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{2})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIGNS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def number(kind: str, text: str) -> int | float:
    """`kind`: int, uint or double. Raises Failure when it is out of range."""
    if kind == "double":
        return float(text)
    value = int(text.rstrip("uU"), 16 if "0x" in text else 10)
    if value not in (UINTS if kind == "uint" else INTS):
        raise Failure(f"invalid {kind} literal")
    return Uint(value) if kind == "uint" else value


def text_of(token: str) -> str | bytes:
    """What a quoted token stands for."""
    prefix = token[: len(token) - len(token.lstrip("rRbB"))].lower()
    quoted = token[len(prefix) :]
    width = 3 if len(quoted) >= 6 and quoted[:3] == quoted[0] * 3 else 1
    inside = quoted[width:-width]
    if "b" in prefix:
        raw = inside.encode()
        return raw if "r" in prefix else b"".join(_bytes(inside))
    return inside if "r" in prefix else _ESCAPE.sub(lambda found: _letter(found), inside)


def _letter(found: re.Match[str]) -> str:
    octal, *hexadecimal, sign = found.groups()
    if octal:
        return chr(int(octal, 8))
    for digits in hexadecimal:
        if digits:
            return chr(int(digits, 16))
    return _SIGNS.get(sign, sign)


def _bytes(inside: str) -> list[bytes]:
    """Octal and \\x escapes are bytes here, not letters."""
    parts, at = [], 0
    for found in _ESCAPE.finditer(inside):
        parts.append(inside[at : found.start()].encode())
        octal, short = found[1], found[2]
        parts.append(bytes([int(octal, 8)]) if octal else bytes([int(short, 16)]) if short else _letter(found).encode())
        at = found.end()
    return [*parts, inside[at:].encode()]
