"""Texts cut to what a note or a message may hold: 1 KiB of UTF-8."""

from __future__ import annotations

LIMIT = 1024
"""bytes: the API server refuses events with a longer note, and counts as Go does (pkg/apis/core/validation/events.go)"""
ELLIPSIS = "..."


def clip(text: str) -> str:
    """The beginning of a text that is too long."""
    sent = encoded(text)
    return text if len(sent) <= LIMIT else sent[: LIMIT - len(ELLIPSIS)].decode(errors="ignore") + ELLIPSIS


def tail(text: str) -> str:
    """The end of a text, the space around it left out: of an error the last line says most."""
    text = text.strip()
    sent = encoded(text)
    return text if len(sent) <= LIMIT else ELLIPSIS + sent[len(ELLIPSIS) - LIMIT :].decode(errors="ignore")


def encoded(text: str) -> bytes:
    """Also of half characters, of which JSON can hold one."""
    return text.encode(errors="surrogatepass")
