"""What lines of Ray's own log mean, and of the init container that waits for the head.

The texts are those of Ray 2.60 (`ray start`, `ray health-check`), with older forms where they are known; only the words that the meaning
hangs on are matched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Meaning(NamedTuple):
    """`seen` is a sentence with {role} for the Pod's role. `of_head`: only on a worker, where it is about the way to the head.
    `following`: so many lines after it belong to it."""

    problem: str
    pattern: re.Pattern[str]
    seen: str
    advice: tuple[str, ...]
    of_head: bool = False
    following: int = 0

    def sentence(self, role: str) -> str:
        text = self.seen.format(role=role)
        return f"{text[0].upper()}{text[1:]}"


TOKENS = (
    "head and workers must share one token: leave it to authOptions, and set no RAY_AUTH_MODE or RAY_AUTH_TOKEN in a template",
    "a Secret that was changed reaches only new Pods: delete the Pods of the cluster, or set upgradeStrategy Recreate",
)
MEANINGS = (
    Meaning(
        "VersionMismatch",
        re.compile(r"[Vv]ersion mismatch:"),
        "{role} runs another version of Ray or Python than the head.",
        ("use one image for head and workers: the versions of Ray and of Python must be the same",),
        of_head=True,
        following=5,
    ),
    Meaning(
        "AuthMismatch",
        re.compile(
            r"[Aa]uthentication (?:token )?(?:failed|mismatch|required|is required)|InvalidAuthToken|[Uu]nauthenticated|UNAUTHENTICATED"
            r"|[Ii]nvalid or missing (?:auth(?:entication)? )?token|Token authentication is enabled but no (?:authentication )?token"
            r"|AuthenticationError|WrongClusterID|WrongClusterToken"
        ),
        "{role} and the rest of the cluster do not have the same token.",
        TOKENS,
    ),
    Meaning(
        "PortInUse",
        re.compile(
            r"Failed to start the grpc server\. The specified port is \d+|[Aa]ddress already in use|Errno 98|already occupied"
            r"|Port \d+ is (?:already )?(?:in use|occupied)|ValueError: (?:Ports?|Ray component) .*(?:conflict|multiple|same port)"
        ),
        "A port that {role} wants is taken by another process, or given to two parts of Ray.",
        (
            "give each a port of its own: rayStartParams (port, dashboard-port, metrics-export-port, ...) and the ports of sidecars",
            "with hostNetwork every process of the node counts: leave hostNetwork out",
        ),
    ),
    Meaning(
        "Certificates",
        re.compile(r"CERTIFICATE_VERIFY_FAILED|[Hh]andshake failed|SSL_ERROR|WRONG_VERSION_NUMBER|does not name .* yet"),
        "TLS between {role} and the rest of the cluster fails.",
        ("kubectl describe certificates: is the certificate issued, and does it name the Pod's address?", "all Pods must use TLS, or none"),
    ),
    Meaning(
        "RedisUnreachable",
        re.compile(r"[Rr]edis.*(?:Connection refused|timed? ?out|[Ff]ailed to connect|not known|NOAUTH|WRONGPASS)|(?:NOAUTH|WRONGPASS)"),
        "{role} cannot use the Redis of its fault tolerance.",
        ("is Redis up, and are address and password in gcsFaultToleranceOptions right?",),
    ),
    Meaning(
        "BadStartCommand",
        re.compile(r"No such option:? |Error: Got unexpected extra argument|Error: Invalid value for|Usage: ray start"),
        "ray start refuses the parameters of {role}.",
        ("correct rayStartParams in the spec; `ray start --help` lists them",),
    ),
    Meaning(
        "NameUnknown",
        re.compile(
            r"Failed to resolve hostname|Name or service not known|Temporary failure in name resolution|nodename nor servname"
            r"|DNS resolution failed|could not resolve|Domain name not found"
        ),
        "The name of the head's Service cannot be resolved by {role}.",
        (
            "is the cluster's DNS running, and may the Pods reach it (port 53, UDP and TCP)? A NetworkPolicy with Egress must allow it",
            "a cluster domain other than cluster.local must be told to the operator: CLUSTER_DOMAIN",
        ),
        of_head=True,
    ),
    Meaning(
        "HeadUnreachable",
        re.compile(
            r"Failed to connect to GCS|Timed out while waiting for GCS|Unable to connect to GCS|the GCS at \S+ does not answer yet"
            r"|Waiting for GCS to be ready|Failed to get cluster ID from GCS|[Cc]onnection refused|[Cc]onnection timed out|No route to host"
        ),
        "{role} cannot reach the head's GCS.",
        ("is the head ready, and does a NetworkPolicy or a service mesh lie between them?",),
        of_head=True,
    ),
    Meaning(
        "ProcessLost",
        re.compile(r"Raylet is terminated|Some Ray subprocesses exited unexpectedly"),
        "A process of Ray in {role} has ended unexpectedly.",
        ("the Pod's memory is the usual reason: see its limit, and /tmp/ray/session_latest/logs in the Pod",),
        following=1,
    ),
)
WORTH = re.compile(r"error|exception|fatal|failed|cannot|denied|not found|no such|killed|panic|refused", re.IGNORECASE)
NOISE = re.compile(r"network_util\.cc.*local IP|usage_lib|authentication_token_setup|observability pubsub|bash: /dev/tcp/")
WAITING = re.compile(r"\d+ s: |\d+ seconds elapsed:")
LONG, BEFORE = 200, 60  # characters: of a line whose meaning comes late only the end is shown, from a little before it
UNREACHABLE = next(meaning for meaning in MEANINGS if meaning.problem == "HeadUnreachable")
NOTHING = Meaning("", re.compile(""), "", ())


def last_told(lines: Sequence[str]) -> Sequence[str]:
    """Of the log of a container that waits: what it said last, as what hindered it before may be over."""
    starts = [number for number, line in enumerate(lines) if WAITING.match(line)]
    return lines[starts[-1] :] if starts else lines


def telling(lines: Sequence[str], *, head: bool = False) -> tuple[Meaning, str] | None:
    """The line that says most, and what it means: the most telling kind of line wins, of one kind the last. None for an empty log.

    A meaning without a problem: the line is only the likeliest one.
    """
    plain = [line for line in (COLOURS.sub("", each).strip() for each in lines) if line and not NOISE.search(line)]
    for meaning in MEANINGS:
        if head and meaning.of_head:
            continue
        for number in reversed(range(len(plain))):
            if match := meaning.pattern.search(plain[number]):
                line = " ".join(plain[number : number + 1 + meaning.following])
                return meaning, line if match.start() < LONG else f"... {line[match.start() - BEFORE :]}"
    worth = [line for line in plain if WORTH.search(line)]
    return (NOTHING, (worth or plain)[-1]) if plain else None
