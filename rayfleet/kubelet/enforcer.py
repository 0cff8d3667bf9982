"""Holds Pods to NetworkPolicies: by rules in each Pod's own network namespace, and by a word to the relay of Services.

A packet filter on the bridge would not do: following connections there needs a module that many kernels lack, and behind a Service it sees
the relay, not who asks. As long as there is no policy, nothing runs.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, ip_address
from pathlib import Path

import msgspec

from rayfleet.api.meta import NAMESPACES, NETWORKPOLICIES, ObjectMeta
from rayfleet.kube.client import Client
from rayfleet.kubelet.endpoints import Address
from rayfleet.kubelet.events import Events
from rayfleet.kubelet.filter_rules import script
from rayfleet.kubelet.loop import again_and_again
from rayfleet.kubelet.network import Network, NetworkError, run, tool
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.passage import Passage
from rayfleet.kubelet.policies import FREE, Isolation, Member, NetworkPolicy, isolations, permits
from rayfleet.kubelet.sandbox import SandboxError
from rayfleet.runtime.informer import Informer

log = logging.getLogger(__name__)
NFT = "nft"
RULES = "rules.nft"  # in the Pod's directory: what it is held to, for the next kubelet; empty while that changes
CHANGING = ""
SETTLE = 0.02  # seconds in which changes gather
AT_ONCE = 4  # Pods whose rules are changed
RETRY = 10.0  # seconds after nft has failed
SIOCGSKNS = 0x894C  # of Linux: the network namespace of a socket, as a descriptor


class Namespace(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta


class Enforcer:
    def __init__(self, client: Client, network: Network, events: Events, pods: Informer[Pod]) -> None:
        self.settings, self.network, self.events, self.pods = network.settings, network, events, pods
        self.policies: Informer[NetworkPolicy] = Informer(client, NETWORKPOLICIES, NetworkPolicy, required=False)
        self.namespaces: Informer[Namespace] = Informer(client, NAMESPACES, Namespace, required=False, metadata_only=True)
        self.isolations: dict[str, Isolation] = {}  # by the Pod's UID
        self.by_address: dict[IPv4Address, Isolation] = {}
        self.applied: dict[str, str] = {}  # the rules of each Pod that has any, by its UID
        self.turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # of each Pod: one that hangs must not hold up others
        self.at_once = asyncio.Semaphore(AT_ONCE)
        self.failed = False
        self.changed = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Returns once it is known which policies there are, and their Pods are held to them."""
        self.applied = {file.parent.name: file.read_text() for file in self.settings.pods.glob(f"*/{RULES}")}
        self.pods.subscribe(self.heed_pod)
        self.policies.subscribe(lambda old, new: self.changed.set())
        self.namespaces.subscribe(lambda old, new: self.changed.set())
        self.tasks = [asyncio.create_task(cache.run()) for cache in (self.policies, self.namespaces)]
        await self.policies.synced()
        await self.namespaces.synced()
        await self.follow()
        self.tasks.append(asyncio.create_task(again_and_again("NetworkPolicies", self.follow_for_ever)))

    async def close(self) -> None:
        """The rules stay, as the Pods do."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def lets(self, caller: str, target: Address, protocol: str) -> bool:
        """May who has the one address be connected to the other? Who is no Pod is the node, which is never kept from its Pods."""
        if not (self.is_of_pods(caller) and self.is_of_pods(target[0])):
            return True
        return permits(self.by_address, IPv4Address(caller), IPv4Address(target[0]), protocol, target[1])

    def is_of_pods(self, address: str) -> bool:
        return ip_address(address) in self.settings.subnet and address != self.settings.address

    def heed_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Who has ended stays in the others' rules until somebody comes: before that his address is nobody's."""
        if new is None and old is not None:
            self.applied.pop(old.metadata.uid, None)
            self.turns.pop(old.metadata.uid, None)
        if self.policies.values() and seen(new) and seen(new) != seen(old):
            self.changed.set()

    async def follow_for_ever(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY if self.failed else None):
                    await self.changed.wait()
            await asyncio.sleep(SETTLE)
            self.changed.clear()
            await self.follow()

    async def follow(self) -> None:
        self.judge()
        self.failed = False
        concerned = self.isolations.keys() | self.applied.keys()
        await asyncio.gather(*(self.renew(pod) for pod in self.pods.values() if pod.metadata.uid in concerned))

    async def renew(self, pod: Pod) -> None:
        async with self.turns[pod.metadata.uid], self.at_once:
            await self.hold(pod)

    async def begin(self, pod: Pod) -> None:
        """Of a network namespace that is new: the Pod is held to its rules before anything runs in it, and the others learn its address."""
        async with self.turns[pod.metadata.uid]:
            self.note(pod, None)
            self.judge()
            await self.hold(pod)
        if self.isolations:
            self.changed.set()

    def judge(self) -> None:
        members = list(self.members()) if self.policies.values() else []
        labels = {one.metadata.name: one.metadata.labels or {} for one in self.namespaces.values()}
        self.isolations = isolations(self.policies.values(), members, labels)
        self.by_address = {one.address: self.isolations[one.uid] for one in members if one.uid in self.isolations}

    def members(self) -> Iterator[Member]:
        """Of a Pod that is about to start the address is known here before the API knows it."""
        for pod in self.pods.values():
            meta = pod.metadata
            address = self.network.taken.get(meta.uid) or pod.status.get("podIP")
            if address and ":" not in str(address) and not pod.finished:  # of IPv6: another node's
                yield Member(meta.uid, meta.namespace, meta.labels or {}, IPv4Address(address), tuple(named_ports(pod)))

    async def hold(self, pod: Pod) -> None:
        """Brings the Pod's rules to what they should be. What hinders it is told, and hinders nothing else."""
        uid = pod.metadata.uid
        words = script(self.isolations.get(uid, FREE), IPv4Address(self.settings.address), self.settings.services)
        wanted = words if uid in self.isolations else None
        if wanted == self.applied.get(uid):
            return
        try:
            await self.apply(pod, words)
            self.note(pod, wanted)
        except SandboxError:  # not here, not yet there, or gone with all its rules
            self.note(pod, None)
        except (NetworkError, OSError) as error:
            self.failed = True
            why = f"nft: {error.said}" if isinstance(error, NetworkError) else error
            self.events.record(pod, "Warning", "NotEnforced", f"NetworkPolicies are not enforced for this Pod: {why}")

    async def apply(self, pod: Pod, words: str) -> None:
        """Raises SandboxError, NetworkError (nft refused) or OSError."""
        passage = await Passage.open(self.directory(pod), "socket")
        inside = passage.take("stdout")
        passage.close()
        assert inside is not None
        # By a socket of the Pod's own: its process id might be somebody else's by now, and so would the namespace be.
        with socket.socket(fileno=inside) as one:
            namespace = fcntl.ioctl(one, SIOCGSKNS)
        try:
            self.note(pod, CHANGING)
            await run(tool("nsenter"), f"--net=/proc/{os.getpid()}/fd/{namespace}", tool(NFT), "-f", "-", script=words)
        finally:
            os.close(namespace)

    def note(self, pod: Pod, rules: str | None) -> None:
        """Raises OSError when the disk is full."""
        file = self.directory(pod) / RULES
        if rules is None:
            self.applied.pop(pod.metadata.uid, None)
            file.unlink(missing_ok=True)
        else:
            self.applied[pod.metadata.uid] = rules
            file.write_text(rules)

    def directory(self, pod: Pod) -> Path:
        return self.settings.pods / pod.metadata.uid


def seen(pod: Pod | None) -> object:
    """What of a Pod policies depend on."""
    return pod and not pod.finished and (pod.metadata.uid, pod.metadata.labels, pod.status.get("podIP"))


def named_ports(pod: Pod) -> Iterator[tuple[str, str, int]]:
    for container in (*pod.containers, *pod.init_containers):
        for port in container.get("ports") or ():
            if port.get("name"):
                yield port["name"], port.get("protocol") or "TCP", int(port["containerPort"])
