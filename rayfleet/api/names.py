"""Names of children. A Pod's name is a fence: whoever creates the same slot twice gets `AlreadyExists` instead of a second Pod."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
STEM_LIMIT = 50
CLUSTER_NAME_LIMIT = 53
SERVICE_NAME_LIMIT = 47
JOB_NAME_LIMIT = 63
RAY_JOB_NAME_LIMIT = 47
CRON_JOB_NAME_LIMIT = 36
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


class Slot(NamedTuple):
    """A place for one Pod in a group: which replica, and which host of it. The head has the one slot (0, 0)."""

    replica: int
    host: int


def head_stem(cluster: str) -> str:
    """What a head Pod's name begins with (KubeRay, 2.3)."""
    return f"{cluster[:STEM_LIMIT]}-head-"


def fixed_head_name(cluster: str) -> str:
    """The head Pod's name where the operator is told to use the same one always (KubeRay, 2.12)."""
    return f"{cluster[:STEM_LIMIT]}-head"


def worker_stem(cluster: str, group: str) -> str:
    """What a worker Pod's name begins with (KubeRay, 2.3)."""
    return f"{f'{cluster}-{group}'[:STEM_LIMIT]}-worker-".lower()


def head_service_name(cluster: str) -> str:
    return f"{cluster}-head-svc"


def serve_service_name(cluster: str) -> str:
    return f"{cluster}-serve-svc"


def ingress_name(cluster: str) -> str:
    return clipped(f"{cluster}-head-ingress")


def route_name(cluster: str) -> str:
    return clipped(f"{cluster}-head-route")


def gateway_name(service: str) -> str:
    return f"{service}-gateway"


def http_route_name(service: str) -> str:
    return f"{service}-httproute"


def account_name(cluster: str) -> str:
    """Of the autoscaler's ServiceAccount, Role and RoleBinding."""
    return clipped(cluster)


def token_secret_name(cluster: str) -> str:
    """Of the Secret with the token of Ray's own ports."""
    return clipped(cluster)


def head_policy_name(cluster: str) -> str:
    return f"{cluster}-head"


def worker_policy_name(cluster: str, group: str) -> str:
    """Of a worker group's NetworkPolicy; without a group, what all such names begin with."""
    return f"{cluster}-workers-{group}"


def other_account_name(cluster: str) -> str:
    """Where another cluster has the usual one: cut at the end, with a hash of what was cut."""
    return f"{cluster[: STEM_LIMIT - SUFFIX_LENGTH - 1]}-{suffix(cluster)}"


def clipped(name: str) -> str:
    """KubeRay's form of a long name: its last 50 characters, the first of which may be no digit and no punctuation."""
    tail = name[-STEM_LIMIT:]
    return tail if tail[0].isalpha() else f"r{tail[1:]}"


def claim_name(cluster: str) -> str:
    """Of the claim on which the head's embedded store lies (KubeRay, 2.3)."""
    return f"{cluster}-gcs-pvc"


def cleanup_name(cluster: str) -> str:
    """Of the Job that empties a deleted cluster's storage namespace in Redis: its last 63 characters (KubeRay, 2.3)."""
    return f"{cluster}-redis-cleanup"[-JOB_NAME_LIMIT:].lstrip("-")


def service_cluster_name(service: str, uid: str, hash: str, taken: Collection[str]) -> str:
    """Of the cluster that a RayService of that UID has for a spec of that hash: who makes it twice gets `AlreadyExists`. A cluster that has
    changed in place since it was made keeps its name, which is then one of the `taken`."""
    tries = 0
    while (name := f"{service}-{suffix(uid, hash, *([tries] if tries else []))}") in taken:
        tries += 1
    return name


def job_cluster_name(job: str, uid: str, number: int) -> str:
    """Of the cluster that a RayJob of that UID makes for one of its tries: who makes it twice gets `AlreadyExists`."""
    return f"{job}-{suffix(uid, 'cluster', number)}"


def cron_job_name(cron: str, due: float) -> str:
    """Of the RayJob of a time (seconds since 1970), as KubeRay names it: who makes it twice gets `AlreadyExists`."""
    return f"{cron}-{int(due) // 60}"


def submission_id(job: str, uid: str, number: int) -> str:
    """By which Ray knows the job of one try."""
    return f"{job}-{suffix(uid, 'submission', number)}"


def headless_service_name(cluster: str) -> str:
    return f"{cluster}-headless"


def suffix(*parts: object) -> str:
    """Five characters of Kubernetes' own alphabet for random names, here from a hash over the parts."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    number = int.from_bytes(digest[:8])
    letters = []
    for _ in range(SUFFIX_LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)


@lru_cache(maxsize=1024)
def slot_names(stem: str, uid: str, group: str, lives: int, replicas: int, hosts: int) -> dict[Slot, str]:
    """The name of every slot of a group in one life, a function of the arguments alone.

    Five characters do collide in a group of hundreds; a later slot whose hash is taken by an earlier one is hashed again with a count, so
    that two observers with different caches still agree on every name.
    """
    names: dict[Slot, str] = {}
    taken: set[str] = set()
    for slot in (Slot(replica, host) for replica in range(replicas) for host in range(hosts)):
        tries = 0
        name = stem + suffix(uid, group, *slot, lives)
        while name in taken:
            tries += 1
            name = stem + suffix(uid, group, *slot, lives, tries)
        taken.add(name)
        names[slot] = name
    return names


def replica_name(group: str, uid: str, replica: int, lives: int) -> str:
    """The label value that the Pods of one multi-host replica share (`ray.io/worker-group-replica-name`)."""
    return f"{group}-{suffix(uid, group, replica, lives, 'replica')}"
