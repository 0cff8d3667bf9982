"""What is wrong with a regular expression, as Go's parser says it (https://pkg.go.dev/regexp/syntax#ErrorCode)."""

from __future__ import annotations

import re

_LOOK = re.compile(r"\(\?(?:<?[=!]|P?>|#|\()")
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
MOST = 1000
"""repetitions that Go's expressions take"""


def fault(pattern: str) -> str | None:
    """None when it is a regular expression of Go's, as far as Python can tell."""
    if (look := _LOOK.search(pattern)) and not pattern.startswith("\\", look.start() - 1 if look.start() else 0):
        return f"invalid or unsupported Perl syntax: `{look[0]}`"
    for found in _REPEAT.finditer(pattern):
        low, high = int(found[1]), int(found[2] or found[1])
        if low > MOST or high > MOST or high < low:
            return f"invalid repeat count: `{found[0]}`"
    try:
        re.compile(_of_python(pattern))
    except re.error as error:
        return _told(pattern, error)
    return None


def _of_python(pattern: str) -> str:
    """Classes that Python has no word for stand for any letter, so that the rest can be judged."""
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
