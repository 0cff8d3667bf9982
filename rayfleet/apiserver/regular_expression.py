"""What is wrong with a regular expression, as Go's parser says it (https://pkg.go.dev/regexp/syntax#ErrorCode)."""

from __future__ import annotations

import re
import warnings
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_LOOK = re.compile(r"\(\?(?:<?[=!]|P?>|#|\()")
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_BACK = re.compile(r"(?<!\\)(?:\\\\)*(\\[1-9])")
MOST = 1000
"""repetitions that Go's expressions take, and parentheses in one another"""


def fault(pattern: str) -> str | None:
    """None when it is a regular expression of Go's, as far as Python can tell."""
    if (look := _LOOK.search(pattern)) and not pattern.startswith("\\", look.start() - 1 if look.start() else 0):
        return f"invalid or unsupported Perl syntax: `{look[0]}`"
    for found in _REPEAT.finditer(pattern):
        low, high = int(found[1]), int(found[2] or found[1])
        if low > MOST or high > MOST or high < low:
            return f"invalid repeat count: `{found[0]}`"
    if back := _BACK.search(pattern):
        return f"invalid escape sequence: `{back[1]}`"
    if pattern.count("(") > MOST:
        return f"expression nests too deeply: `{pattern}`"
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = _parser.parse(_of_python(pattern))
    except re.error as error:
        return _told(pattern, error)
    except RecursionError:
        return f"expression nests too deeply: `{pattern}`"
    return f"invalid repeat count: `{repeat}`" if (repeat := _too_many(tree, 1)) else None


def _too_many(tree: Any, outside: int) -> str:
    """The innermost repetition with which there are too many in one another."""
    for operation, given in tree:
        inner, times = given, outside
        if operation in _REPEATS:
            low, high, inner = given
            most = int(low) if high == _parser.MAXREPEAT else int(high)
            times = outside * max(most, 1)
            if times > MOST and (outside > 1 or most > MOST):
                return f"{{{low}}}" if low == high else f"{{{low},{'' if high == _parser.MAXREPEAT else high}}}"
        for part in inner if isinstance(inner, (list, tuple)) else (inner,):
            for branch in part if isinstance(part, list) else (part,):
                if isinstance(branch, _parser.SubPattern) and (found := _too_many(branch, times)):
                    return found
    return ""


def _of_python(pattern: str) -> str:
    """Classes that Python has no word for stand for any letter, so that the rest can be judged."""
    pattern = re.sub(r"\\Q.*?(?:\\E|$)|\\x\{[0-9a-fA-F]+\}", "a", pattern)
    return re.sub(r"\\z", r"\\Z", re.sub(r"\[:\^?\w+:\]", "a", re.sub(r"\\[pP](?:\{\^?\w+\}|\w)", r"\\w", pattern)))


def _told(pattern: str, error: re.error) -> str:
    at = error.pos or 0
    if "missing )" in error.msg:
        return f"missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in error.msg:
        return f"unexpected ): `{pattern}`"
    if "unterminated character set" in error.msg:
        return f"missing closing ]: `{pattern[at:]}`"
    if "nothing to repeat" in error.msg or "multiple repeat" in error.msg:
        return f"missing argument to repetition operator: `{pattern[at : at + 1]}`"
    if "bad character range" in error.msg:
        return f"invalid character class range: `{error.msg.rpartition(' ')[2]}`"
    return f"invalid escape sequence: `{pattern[at : at + 2]}`" if "escape" in error.msg else f"{error.msg}: `{pattern}`"
