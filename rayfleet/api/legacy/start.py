"""The old start commands: shell lines of which one runs `ray start`. Into start parameters and what is to be run before them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from rayfleet.api.legacy.note import Note

START = re.compile(r"(?:^|(?<=[\s;&(]))ray\s+start\b")
STOPS = re.compile(r"ray\s+stop(\s+--?[\w-]+)*")
ULIMIT = re.compile(r"ulimit\s+-n\s+65536")
SHELL = re.compile(r"[;&|<>`()\n]|\$\(")
OWN = ("head", "block", "autoscaling-config", "no-monitor", "no-redirect-output", "no-redirect-worker-output")
"""Set by the operator, or without a meaning in a container."""
OLD_PORT = "redis-port"
HEAD_ADDRESS = re.compile(r"\$\{?RAY_HEAD_IP\}?:(\d+)")


class Start(msgspec.Struct, frozen=True):
    """`params` are start parameters, `before` shell lines that come first. Where the commands cannot be told apart `verbatim` is the whole
    script instead, which starts Ray itself."""

    params: dict[str, str] = {}
    before: tuple[str, ...] = ()
    verbatim: str = ""
    notes: tuple[Note, ...] = ()


def read_start(commands: Sequence[str], path: str, setup: Sequence[str], *, head: bool) -> Start:
    """Nothing is dropped but what the operator does itself."""
    rest = [each for each in commands if not STOPS.fullmatch(each.strip())]
    starting = [index for index, each in enumerate(rest) if START.search(each)]
    if starting != [len(rest) - 1] or len(START.findall(rest[-1])) != 1:
        return as_it_is(rest, path, setup, head)
    match = START.search(rest[-1])
    assert match is not None
    before, after = rest[-1][: match.start()].strip(), rest[-1][match.end() :].strip()
    found = None if SHELL.search(after) else flags(after)
    if found is None or not is_plain(before):
        return as_it_is(rest, path, setup, head)
    lines = [*setup, *rest[:-1], *([before.rstrip("; ").removesuffix("&&").strip()] if before else [])]
    params, notes = parameters(found, path, head=head)
    return Start(params, tuple(with_head([line for line in lines if line and not ULIMIT.fullmatch(line)], head)), notes=tuple(notes))


def is_plain(before: str) -> bool:
    """Does what stands before end where `ray start` begins?"""
    return not before or before.endswith((";", "&&"))


def flags(text: str) -> dict[str, str] | None:
    """By name, as written; None when it is not a plain list of flags."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    found: dict[str, str] = {}
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("--"):
            return None
        name, equals, value = word[2:].partition("=")
        if not equals and index + 1 < len(words) and not words[index + 1].startswith("--"):
            index += 1
            value = words[index]
        found[name] = value if equals or value else "true"
        index += 1
    return found


def parameters(found: dict[str, str], path: str, *, head: bool) -> tuple[dict[str, str], list[Note]]:
    params: dict[str, str] = {}
    notes: list[Note] = []
    for name, value in found.items():
        if name in OWN:
            continue
        if name == OLD_PORT:
            params["port"] = value
        elif name == "redis-password":
            notes.append(Note(path, "--redis-password is left out, as the old operator refused it", "gcsFaultToleranceOptions has one"))
        elif name == "address" and not head and HEAD_ADDRESS.fullmatch(value):
            continue
        elif name == "resources":
            params[name] = quoted_json(value)
        else:
            params[name] = value
    return params, notes


def quoted_json(text: str) -> str:
    """In the form that Ray's autoscaler reads out of `rayStartParams.resources`."""
    return json.dumps(text)


def worker_port(commands: Sequence[str]) -> str:
    """At which port of the head workers look for it; "" where none of them says."""
    for each in commands:
        if match := HEAD_ADDRESS.search(each):
            return match.group(1)
    return ""


def as_it_is(rest: Sequence[str], path: str, setup: Sequence[str], head: bool) -> Start:
    """The script as the old operator ran it, one command after the other, and a container that stays with Ray."""
    lines = [*setup, *rest]
    if lines and START.search(lines[-1]) and not SHELL.search(lines[-1][START.search(lines[-1]).end() :]):  # type: ignore[union-attr]
        lines[-1] = lines[-1] if "--block" in lines[-1] else f"{lines[-1]} --block"
    else:
        lines.append("sleep infinity")
    if not any(START.search(each) for each in rest):
        note = Note(path, "none of these commands starts Ray", "add ray start, or leave them out", lost=True)
    else:
        advice = "compare it with what rayfleet render shows for a plain group; the operator's own start parameters are not in it"
        note = Note(path, "the commands cannot be split, and are run as they are (ray.io/overwrite-container-cmd)", advice)
    return Start(verbatim="\n".join(with_head(without_scaler(lines), head)), notes=(note,))


def without_scaler(lines: Sequence[str]) -> list[str]:
    """The operator scales; no monitor of the head's own is given the old file."""
    return [re.sub(r"\s--autoscaling-config[= ]\S+", "", line) for line in lines]


def with_head(lines: Sequence[str], head: bool) -> Iterator[str]:
    """Workers' lines may name the head as they did."""
    if not head and any("RAY_HEAD_IP" in line for line in lines):
        yield 'export RAY_HEAD_IP="$FQ_RAY_IP"'
    yield from lines
