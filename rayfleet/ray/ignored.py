"""Which files of a working directory are left out, by the lines of .gitignore and .rayignore (https://git-scm.com/docs/gitignore). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FILES = (".gitignore", ".rayignore")
USUAL = (".git/", ".venv/", "venv/", "__pycache__/")
"""What Ray's own client leaves out unless it is told otherwise."""
TOKEN = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?[^]/]*\]|\\.|.", re.DOTALL)
MEANINGS = {"**/": "(?:.*/)?", "/**": "/.*", "?": "[^/]"}


class Rule(NamedTuple):
    """`base` is the directory whose file has the line: "" or ending in a slash."""

    base: str
    pattern: re.Pattern[str]
    directories_only: bool
    keeps: bool


def rules(lines: Iterable[str], base: str = "") -> Iterator[Rule]:
    """The rules of one file, in its order. A line that is no pattern leaves nothing out."""
    for line in lines:
        text = line.rstrip("\r\n")
        text = text if text.endswith("\\ ") else text.rstrip(" ")
        if not text or text.startswith("#"):
            continue
        keeps = text.startswith("!")
        text = text[1:] if keeps else text
        bare = text.rstrip("/")
        anchored = "/" in bare
        try:
            pattern = re.compile(("" if anchored else "(?:.*/)?") + translated(bare.removeprefix("/")), re.DOTALL)
        except re.error:
            continue
        yield Rule(base, pattern, text.endswith("/"), keeps)


def translated(pattern: str) -> str:
    return "".join(meaning(token) for token in TOKEN.findall(pattern))


def meaning(token: str) -> str:
    if token in MEANINGS:
        return MEANINGS[token]
    if token.startswith("*"):
        return "[^/]*"
    if token.startswith("[") and len(token) > 1:
        return "[" + token[1:].replace("!", "^", 1) if token[1] == "!" else token
    return re.escape(token.removeprefix("\\") if len(token) > 1 else token)


def is_ignored(path: str, directory: bool, known: Iterable[Rule]) -> bool:
    """`path` is relative to the root, with slashes. The last rule that matches counts; what lies in a directory that is left out is never
    asked for."""
    ignored = False
    for rule in known:
        inside = path.startswith(rule.base) and (directory or not rule.directories_only)
        if inside and rule.pattern.fullmatch(path[len(rule.base) :]):
            ignored = not rule.keeps
    return ignored
