"""Writes of the operator by scenario, beside those that KubeRay was recorded to make in the same one; and at rest.

The operator is the real one, on the embedded API with the hollow kubelet; the scenarios are the recorded cases of tests/parity, one step
after another. "fences" are writes to the RayCluster's own annotations, which KubeRay does not make (see rayfleet/raycluster/lives.py).
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.parity.cluster import Cluster, applied, cluster, group, template
from tests.parity.ledger import counted
from tests.parity.recording import Recording, recording
from tests.parity.replay import Outcome, replay_all
from tests.parity.stage import stage
from tests.parity.swift import SwiftClock

SCENARIOS = {
    "head and 2 workers: start-up, then deleted": "raycluster-head-and-workers",
    "autoscaler: start-up, then deleted": "raycluster-autoscaler-default",
    "1 worker -> 3 -> 1": "raycluster-scale-up-down",
    "autoscaler: 1 -> 3, 1 named and gone": "raycluster-autoscaler-scaling",
    "3 workers named twice, one by one": "raycluster-workers-to-delete",
    "2 replicas of 2 hosts: a host lost, then 1 replica": "raycluster-multi-host",
    "suspended and resumed": "raycluster-suspend-resume",
    "a group suspended, resumed, suspended": "raycluster-group-suspend",
    "head deleted": "raycluster-head-deleted",
    "head evicted": "raycluster-head-failed-always",
    "two workers fail": "raycluster-worker-failed",
    "Recreate, a count, Recreate": "raycluster-recreate",
    "a template edited, a worker deleted": "raycluster-template-change",
    "deleted and applied again at once": "raycluster-delete-reapply",
    "quota too small, then raised": "raycluster-quota",
    "a group added, another renamed": "raycluster-group-added",
    "head Service edited, then its type": "raycluster-service-edited",
    "a foreign Service of the head's name": "raycluster-foreign-service",
    "a spec that is refused": "raycluster-invalid-min-above-max",
}
RATE = 100.0
REST = 600.0  # seconds of the operator's clock


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rayfleet-bench-") as directory:
        outcomes = asyncio.run(replay_all(SCENARIOS.values(), Path(directory)))
    print("  | scenario | KubeRay: status + other + events | rayfleet: status + other + events, fences |")
    print("  |---|---|---|")
    for told, name in SCENARIOS.items():
        print(f"  | {told} | {peers(recording(name))} | {ours(outcomes[name])} |")
    print(f"  | at rest for {REST / 60:g} minutes | writes |")
    print("  |---|---|")
    for told, number in asyncio.run(rest()).items():
        print(f"  | {told} | {number} |", flush=True)


def peers(case: Recording) -> str:
    return f"{sum(step['status'] for step in case.writes)} + {sum(step['other'] for step in case.writes)} + {case.events}"


def ours(outcome: Outcome) -> str:
    found = counted(entry for step in outcome.writes for entry in step)
    return f"{found['status']} + {found['other']} + {found['events']}, {found['fences']}"


async def rest() -> dict[str, int]:
    """Writes of any kind by scenario, after all was quiet once."""
    pending = template(metadata={"annotations": {"rayfleet.dev/hollow": "pending"}})
    at_rest = {
        "ready": cluster("rest-ready", group(replicas=2)),
        "a suspended group": cluster("rest-group", group(), group("off", suspend=True)),
        "autoscaler": cluster("rest-autoscaler", group(), enableInTreeAutoscaling=True),
        "suspended": cluster("rest-suspended", group(), suspend=True),
        "a worker that cannot be scheduled": cluster("rest-pending", group(template=pending)),
        "a spec that is refused": cluster("rest-refused", group(minReplicas=5, maxReplicas=2)),
    }
    async with stage(clock=SwiftClock(RATE)) as place:
        clusters = {told: await applied(place, manifest) for told, manifest in at_rest.items()}
        await asyncio.gather(*(each.quiet() for each in clusters.values()))
        before = len(place.ledger.entries)
        await asyncio.sleep(REST / RATE)
        late = place.ledger.entries[before:]
    return {told: sum(written(each, entry.namespace, entry.who) for entry in late) for told, each in clusters.items()}


def written(each: Cluster, namespace: str, who: str) -> bool:
    return namespace == each.namespace and who == "operator"
