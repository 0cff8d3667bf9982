"""What befalls a RayService in a storm: users who change their minds, a Serve that lies, and accidents. Each act says whether it did
anything; what excuses that requests are lost is told to the rules."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, cast

from rayfleet.api import labels
from rayfleet.api.meta import HTTPROUTES, PODS, RAYCLUSTERS, RAYSERVICES, SERVICES, Key
from rayfleet.planning.backoff import LONGEST_RETRY
from rayfleet.sim import accidents
from rayfleet.sim.chaos import Act, Chaos
from rayfleet.sim.kubelet import key_of
from rayfleet.sim.serve_rules import ServeRules
from rayfleet.sim.service_specs import CONFIG, cluster_spec, group, incremental
from rayfleet.sim.store import Obj
from rayfleet.sim.world import NAMESPACE, World

MOODS = ("error", "html", "missing", "hang", "unhealthy", "forgetful", "other")
STATES = ("DEPLOYING", "DEPLOY_FAILED", "UNHEALTHY")
CONFIGS = (CONFIG, CONFIG.replace("sums:app", "sums:other"), CONFIG + "  deployments: [{name: D, num_replicas: 2}]\n")
AUTOSCALED = "enableInTreeAutoscaling"
RECOVERY = 45.0  # seconds that a cluster needs after an accident, for all of it
WELL = 1e9  # until it is well again


class ServeChaos(Chaos):
    """Acts on one RayService, and on one of its clusters. `gentle`: nothing befalls a cluster, and no request may be lost."""

    resource = RAYSERVICES
    scarce = (PODS, RAYCLUSTERS, SERVICES)

    def __init__(self, world: World, dice: Random, wanted: Obj, rules: ServeRules, *, gentle: bool) -> None:
        super().__init__(world, dice, wanted, GENTLE if gentle else ODDS)
        self.rules = rules
        rules.hindered = lambda: self.quota or self.broken or bool(world.nodes.down)
        scaled = {name: True for name in wanted["spec"]["rayClusterConfig"] if name == AUTOSCALED}
        self.revisions = tuple(revision(rev, **scaled) for rev in (None, "2", "3"))
        numbers = tuple(cluster_spec(group(replicas=number, minReplicas=1), **scaled) for number in (1, 2, 3))
        self.sizes = (*numbers, cluster_spec(group(minReplicas=1), group("extra", minReplicas=1), **scaled))
        self.configs = CONFIGS
        self.strategies = ({"type": "None"}, {"type": "NewCluster"}, *((incremental(50, 50, 5),) if scaled else ()))

    @property
    def clusters(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.rules.front.clusters(self.title)]

    @property
    def name(self) -> str:
        """Of a cluster of its own, which something is to befall."""
        found = self.clusters
        return self.dice.choice(found) if found else ""

    def get_well(self) -> bool:
        serve = self.world.rays.serve
        was = [*serve.moods, *serve.stuck]
        serve.moods.clear()
        serve.stuck.clear()
        for name in was:
            self.rules.harmed[name] = 0.0
            self.rules.harm(name, RECOVERY)
        return bool(was)

    def stop(self) -> None:
        self.get_well()
        super().stop()
        self.rules.harm("", RECOVERY)


def harming(act: Act, seconds: float = RECOVERY) -> Act:
    """An accident after which all clusters are excused for so long."""

    def fault(chaos: ServeChaos) -> bool:
        done = act(chaos)
        if done:
            chaos.rules.harm("", seconds)
        return done

    fault.__name__ = act.__name__
    return cast(Act, fault)


def afflict(name: str, ills: str, what: str) -> Act:
    """Serve's `moods`, or where it is `stuck`, of one cluster."""

    def act(chaos: ServeChaos) -> bool:
        cluster = chaos.name
        if cluster:
            getattr(chaos.world.rays.serve, ills)[cluster] = what
            chaos.rules.harm(cluster, WELL)
        return bool(cluster)

    act.__name__ = name
    return cast(Act, act)


def flap(chaos: ServeChaos) -> bool:
    """Well and unhealthy in turn, some times."""
    name, serve = chaos.name, chaos.world.rays.serve
    if not name:
        return False
    chaos.rules.harm(name, 12.0 + RECOVERY)
    for number in range(6):
        mood = "unhealthy" if number % 2 == 0 else ""
        chaos.world.clock.call_later(2.0 * number, lambda mood=mood: serve.moods.update({name: mood}))  # type: ignore[misc]
    return True


def revision(env: str | None, **fields: Any) -> Obj:
    return cluster_spec(group(minReplicas=1), env=env, **fields)


def edit(name: str, **choices: str) -> Act:
    """`choices`: which of the chaos' own for which field."""

    def act(chaos: ServeChaos) -> bool:
        return chaos.spec({field: chaos.dice.choice(getattr(chaos, values)) for field, values in choices.items()})

    act.__name__ = name
    return cast(Act, act)


def there_and_back(chaos: ServeChaos) -> bool:
    """A -> B -> A, the second edit at any moment after the first."""
    before, after = chaos.wanted["spec"]["rayClusterConfig"], chaos.dice.choice(chaos.revisions)
    back = chaos.dice.choice((0.3, 3.0, 12.0, 25.0))
    chaos.world.clock.call_later(back, lambda: chaos.active and chaos.spec({"rayClusterConfig": before}))
    return chaos.spec({"rayClusterConfig": after})


def suspend_service(chaos: ServeChaos) -> bool:
    done = not chaos.wanted["spec"].get("suspend") and chaos.spec({"suspend": True})
    if done:
        chaos.rules.harm("", WELL)
    return bool(done)


def resume_service(chaos: ServeChaos) -> bool:
    done = bool(chaos.wanted["spec"].get("suspend")) and chaos.spec({"suspend": False})
    if done:
        chaos.rules.begin_anew()
    return done


def spoil_service(chaos: ServeChaos) -> bool:
    if chaos.broken or chaos.found is None:
        return False
    chaos.broken = True
    chaos.world.edit(chaos.title, {"serveConfigV2": chaos.dice.choice(("applications: [{name: a}]", "{", "3"))}, RAYSERVICES)
    return True


def delete_service_object(chaos: ServeChaos) -> bool:
    if chaos.found is None or chaos.dice.random() < 0.6:
        return False
    chaos.world.delete(RAYSERVICES, chaos.title)
    chaos.rules.begin_anew()
    return True


def delete_cluster(chaos: ServeChaos) -> bool:
    name = chaos.name
    if name:
        chaos.world.delete(RAYCLUSTERS, name)
        chaos.rules.harm("", RECOVERY)
        chaos.rules.begin_anew()
    return bool(name)


def kill_head(chaos: ServeChaos) -> bool:
    name = chaos.name
    heads = [pod for pod in chaos.world.pods(name) if pod["metadata"]["labels"].get(labels.NODE_TYPE) == labels.HEAD]
    if heads:
        chaos.world.user("delete", PODS, key_of(heads[0]), grace=0)
        chaos.rules.harm(name, RECOVERY + 30.0)
    return bool(heads)


def lose_service(chaos: ServeChaos) -> bool:
    found = [each for each in chaos.world.store.all(SERVICES) if each["metadata"]["name"].startswith(f"{chaos.title}-")]
    if found:
        chaos.world.user("delete", SERVICES, key_of(chaos.dice.choice(found)))
    return bool(found)


def turn_service(chaos: ServeChaos) -> bool:
    """Somebody leads it to nobody."""
    key = Key(NAMESPACE, f"{chaos.title}-serve-svc")
    chaos.world.user("patch", SERVICES, key, body={"spec": {"selector": {labels.CLUSTER: "zzz"}}})
    return True


def lose_route(chaos: ServeChaos) -> bool:
    found = chaos.world.store.all(HTTPROUTES)
    if found:
        chaos.world.user("delete", HTTPROUTES, key_of(found[0]))
    return bool(found)


def erase_status(chaos: ServeChaos) -> bool:
    key = Key(NAMESPACE, chaos.title)
    found = chaos.found or {}
    gone = dict.fromkeys(found.get("status") or {})
    if gone:
        chaos.world.user("patch", RAYSERVICES, key, body={"status": gone}, subresource="status")
    return bool(gone)


def toggle_quota(chaos: ServeChaos) -> bool:
    chaos.quota = not chaos.quota
    return chaos.quota


EDITS: Mapping[Any, int] = {
    edit("edit-cluster", rayClusterConfig="revisions"): 3,
    edit("edit-sizes", rayClusterConfig="sizes"): 1,
    edit("edit-config", serveConfigV2="configs"): 2,
    edit("edit-both", rayClusterConfig="revisions", serveConfigV2="configs"): 2,
    there_and_back: 2,
    spoil_service: 1,
    ServeChaos.mend: 3,
    toggle_quota: 2,
    erase_status: 1,
}
OF_OPERATORS: dict[Act, int] = {
    accidents.restart_leader: 3,
    accidents.cut_watch: 2,
    accidents.delay_watch: 3,
    accidents.repeat_events: 1,
}
GENTLE: dict[Act, int] = {**cast(dict[Act, int], EDITS), **OF_OPERATORS}
"""What may cost no request."""
ODDS: dict[Act, int] = {
    **GENTLE,
    harming(edit("edit-strategy", upgradeStrategy="strategies"), LONGEST_RETRY): 1,  # requests come another way then
    **{afflict(f"serve-{mood}", "moods", mood): 1 for mood in MOODS},
    **{afflict(f"stuck-{state}", "stuck", state): 1 for state in STATES},
    **{
        cast(Act, act): odds
        for act, odds in {flap: 1, ServeChaos.get_well: 6, suspend_service: 1, resume_service: 3, delete_service_object: 1}.items()
    },
    **{harming(cast(Act, act)): 1 for act in (delete_cluster, kill_head)},
    **{harming(cast(Act, act), LONGEST_RETRY): 1 for act in (lose_service, turn_service, lose_route)},
    **{harming(act): 1 for act in (accidents.evict_pod, accidents.exit_container, accidents.delete_pod)},
    harming(accidents.lose_node, 90.0): 1,
    accidents.step_clock_forwards: 1,
    accidents.step_clock_back: 1,
}
"""Each act and how often it is drawn."""
