"""Transcripts without what is another in every run."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """Without what is another in every run: the endings of Pods' names, in the order of their appearance, and UIDs."""
    endings: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return f"{found[1]}-{endings.setdefault(found[2], str(len(endings) + 1))}"

    text = re.sub(r"(FailedTo\w+) \(x\d+\)", r"\1", text)  # how often the operator has tried by now
    text = re.sub(r"\b([a-z0-9-]+-(?:head|worker))-([bcdfghjklmnpqrstvwxz2456789]{5})(?![a-z0-9])", named, text)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", text)
