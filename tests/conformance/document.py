"""docs/embedded-api.md, made of the cases and of the table of differences. `python -m tests.conformance.document` writes it."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.cases import CASES, TOPICS
from tests.conformance.paths import differences
from tests.conformance.purpose import GAPS, PURPOSES, Difference
from tests.conformance.recorded import KUBERNETES, Answers, recorded

FILE = Path(__file__).parents[2] / "docs" / "embedded-api.md"

HEAD = """# The embedded API, held to a real one

The API server of a fleet on a laptop is compared with Kubernetes {version}, exchange by exchange: {cases} cases of plain HTTP,
{exchanges} exchanges. Status code, `Content-Type`, `Warning`, `Retry-After` and the whole body must be equal once what no two servers
can share (uids, times, versions, addresses, drawn names) has been replaced: `tests/conformance/normal.py` says what, path by path.

Behind it work, as in a control plane: garbage collection, the ends of namespaces and definitions, names of definitions, EndpointSlices,
quotas, disruption budgets and Jobs (not CronJobs, Deployments or ReplicaSets; Jobs with `backoffLimitPerIndex` or `successPolicy` are
refused). Logs, exec, attach and port-forward are asked of the kubelet on the Pod's node.

Server-side apply keeps `metadata.managedFields` from the first apply on: an object that never met one carries none, and what
stood on it then belongs to `before-first-apply`. Conflicts, `force`, shared fields and the removal of what is left out are as
in Kubernetes.

ValidatingAdmissionPolicies are evaluated for what clients write and delete, not for what the server's own controllers do; audit annotations
are not kept, and no status tells of types. LimitRanges and priorities are applied to new Pods, disruption budgets to evictions. Volumes and
classes of storage, ingress and runtime are stored, and nothing acts on them.

Clients in Go send what is of no custom kind as protobuf: it is taken for every kind but definitions (415), and the answer
is JSON. A controller made of client-go and controller-runtime (`testbed/controller`) sees the same here as on a real server: caches, index,
conflicts, server-side apply, garbage, finalizers, watches, leader election.

## What it bears

Bodies of at most 3 MiB and 200 objects in one another (Kubernetes: 10,000), which have to be there within a minute; compressed ones are not
opened. Writes of more than 64 KiB, sent or stored, are worked on in two threads beside the loop, and begun again, at most five times, when
another write was faster (then 409); others are answered meanwhile. A refusal tells 1,000 faults (Kubernetes: all); what YAML names again
may come to 1,000,000 values. An object has at most 1.5 MiB of JSON, the values of a ConfigMap or Secret 1 MiB, as in Kubernetes. A watch is
given up that takes nothing for a minute or is 64 MiB behind. URLs and headers have at most 256 KiB (Kubernetes: 1 MiB). All CEL rules
that judge one write have 1,000,000 units, as Kubernetes gives each; patterns are searched in linear time. Where the disk refuses a write,
nothing of it stays, the writer is told (500), and reads go on. A damaged state file is not served: the log, and `rayfleet up`, say how to
restore it; a copy is made at each start (up to 64 MiB).

## How it is compared

    pytest tests/conformance                    # against what the real server answered when it was recorded
    make testbed && pytest tests/conformance    # and against the real server itself
    python -m tests.conformance.look            # every difference that is left
    python -m tests.conformance.recorded        # ask the real server again

{equal} cases are equal in everything, {purpose} differ on purpose, {gap} differ and should not.
This file is generated from the cases and the tables; a test compares.

## Cases

| topic | cases | exchanges | equal | on purpose | to be mended |
|---|---|---|---|---|---|
"""
COLUMNS = "\n| cases | where | why |\n|---|---|---|\n"


def document(ours: Answers) -> str:
    kinds = {name: verdict(ours, name) for name in CASES}
    counts = {word: sum(kind == word for kind in kinds.values()) for word in ("equal", "purpose", "gap")}
    exchanges = sum(len(answers) for topic in TOPICS for answers in recorded(topic).values())
    text = HEAD.format(version=KUBERNETES, cases=len(CASES), exchanges=exchanges, **counts)
    for topic, cases in TOPICS.items():
        words = [kinds[case.name] for case in cases]
        asked = sum(len(recorded(topic)[case.name]) for case in cases)
        text += f"| {topic} | {len(cases)} | {asked} | {words.count('equal')} | {words.count('purpose')} | {words.count('gap')} |\n"
    text += "\n## On purpose\n" + COLUMNS + "".join(map(row, PURPOSES))
    if GAPS:
        text += "\n## To be mended\n" + COLUMNS + "".join(map(row, GAPS))
    return text


def verdict(ours: Answers, name: str) -> str:
    """equal, purpose, or gap: the worst that one of its differences is."""
    topic, case = CASES[name]
    paths = [path for path, _, _ in differences(recorded(topic)[name], ours.of(case))]
    if not paths:
        return "equal"
    return "purpose" if all(any(each.covers(name, path) for each in PURPOSES) for path in paths) else "gap"


def row(difference: Difference) -> str:
    cases = "all" if difference.cases == ("*",) else ", ".join(f"`{each}`" for each in difference.cases)
    return f"| {cases} | {', '.join(f'`{path}`' for path in difference.paths)} | {difference.reason} |\n"


if __name__ == "__main__":
    from tests.conformance.servers import embedded

    with embedded() as peer:
        FILE.write_text(document(Answers(peer)))
