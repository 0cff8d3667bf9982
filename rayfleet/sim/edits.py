"""What users do to a RayCluster in a storm. Each says whether it did anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rayfleet.api import labels
from rayfleet.api.meta import PODS, RAYCLUSTERS, Key
from rayfleet.sim import manifests
from rayfleet.sim.world import NAMESPACE

if TYPE_CHECKING:
    from rayfleet.sim.chaos import Chaos


def scale(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    group = chaos.dice.choice(groups)
    group["replicas"] = chaos.dice.randint(0, group["maxReplicas"] + 2)
    group["minReplicas"] = chaos.dice.choice((0, 0, 0, 1))
    return chaos.spec({"workerGroupSpecs": groups})


def name_workers(chaos: Chaos) -> bool:
    """As Ray's autoscaler does it: fewer replicas and the names of those to go; or names of strangers' Pods, or of none."""
    groups = chaos.groups()
    pods = [pod["metadata"]["name"] for pod in chaos.world.store.all(PODS)]
    if not groups:
        return False
    group = chaos.dice.choice(groups)
    names = chaos.dice.sample(pods, min(len(pods), chaos.dice.randint(0, 2))) + chaos.dice.sample(["foreign", "nobody"], 1)
    group["scaleStrategy"] = {"workersToDelete": names}
    group["replicas"] = max(group["replicas"] - 1, 0)
    return chaos.spec({"workerGroupSpecs": groups})


def add_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    name = f"extra{chaos.dice.randint(0, 9)}"
    if len(groups) > 3 or any(group["groupName"] == name for group in groups):
        return False
    return chaos.spec({"workerGroupSpecs": [*groups, manifests.group(name, chaos.dice.randint(0, 2))]})


def remove_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    groups.remove(chaos.dice.choice(groups))
    return chaos.spec({"workerGroupSpecs": groups})


def rename_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    name = f"renamed{chaos.dice.randint(0, 99)}"
    if any(group["groupName"] == name for group in groups):
        return False
    chaos.dice.choice(groups)["groupName"] = name
    return chaos.spec({"workerGroupSpecs": groups})


def change_template(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    chaos.dice.choice(groups)["template"] = manifests.template(image=f"rayproject/ray:2.{chaos.dice.randint(50, 60)}.0")
    return chaos.spec({"workerGroupSpecs": groups})


def spoil_lives(chaos: Chaos) -> bool:
    """As `kubectl replace` with an old file, or a hand that slips."""
    note = chaos.dice.choice((None, "", "headgroup:0=x;;:-=", "headgroup:0=999999999999"))
    if chaos.world.cluster(chaos.name) is None:
        return False
    body = {"metadata": {"annotations": {labels.LIVES: note}}}
    chaos.world.user("patch", RAYCLUSTERS, Key(NAMESPACE, chaos.name), body=body)
    return True


def erase_status(chaos: Chaos) -> bool:
    chaos.world.user("patch", RAYCLUSTERS, Key(NAMESPACE, chaos.name), body={"status": None}, subresource="status")
    return True


def suspend(chaos: Chaos) -> bool:
    return chaos.spec({"suspend": True})


def resume(chaos: Chaos) -> bool:
    return bool(chaos.wanted["spec"].get("suspend")) and chaos.spec({"suspend": False})


def suspend_group(chaos: Chaos) -> bool:
    groups = chaos.groups()
    if not groups:
        return False
    group = chaos.dice.choice(groups)
    group["suspend"] = not group.get("suspend")
    return chaos.spec({"workerGroupSpecs": groups})


def delete_and_apply(chaos: Chaos) -> bool:
    """It is applied again as soon as it is gone: at once, or when its own clean-up has ended."""
    chaos.world.delete(RAYCLUSTERS, chaos.name)
    chaos.world.clock.spawn(apply_again(chaos))
    return True


def apply_again(chaos: Chaos) -> Iterator[float]:
    while chaos.world.cluster(chaos.name) is not None:
        yield 1.0
    chaos.broken = False
    chaos.world.apply(chaos.wanted)


def hold_cluster(chaos: Chaos) -> bool:
    """Delete it while somebody's finalizer holds it, let it go after a while, and apply it again."""
    world, key = chaos.world, Key(NAMESPACE, chaos.name)

    def hold(names: list[str]) -> None:
        world.user("patch", RAYCLUSTERS, key, body={"metadata": {"finalizers": names or None}})

    def release() -> None:
        if found := world.cluster(chaos.name):
            hold([name for name in found["metadata"].get("finalizers") or () if name != HOLDER])

    found = world.cluster(chaos.name)
    if found is None or found["metadata"].get("deletionTimestamp"):
        return False
    hold([*(found["metadata"].get("finalizers") or ()), HOLDER])
    world.clock.call_later(chaos.dice.uniform(1.0, 5.0), release)
    return delete_and_apply(chaos)


HOLDER = "example.com/held"


def break_spec(chaos: Chaos) -> bool:
    if chaos.broken or chaos.world.cluster(chaos.name) is None:
        return False
    bad = chaos.dice.choice(manifests.FAULTY_GROUPS)
    chaos.broken = True
    chaos.world.edit(chaos.name, {"workerGroupSpecs": bad})
    return True


def toggle_quota(chaos: Chaos) -> bool:
    chaos.quota = not chaos.quota
    return chaos.quota


ODDS: dict[Callable[[Chaos], bool], int] = {
    scale: 2,
    name_workers: 1,
    add_group: 1,
    remove_group: 1,
    rename_group: 1,
    change_template: 1,
    suspend: 1,
    resume: 3,
    suspend_group: 1,
    spoil_lives: 1,
    erase_status: 1,
    delete_and_apply: 1,
    hold_cluster: 1,
    break_spec: 1,
    toggle_quota: 2,
}
