"""Makes a Pod's sandbox, starts its containers in it, finds both again after a restart of the kubelet, and takes all of it away."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from rayfleet.kube.errors import ApiError
from rayfleet.kubelet import claims, container, env, etc, last_words, logs, tokens, volumes
from rayfleet.kubelet.attempt import LOST, read_histories, with_attempt
from rayfleet.kubelet.cgroups import limits_of
from rayfleet.kubelet.env import ConfigError, Facts, Source
from rayfleet.kubelet.house import House
from rayfleet.kubelet.kept_logs import keep
from rayfleet.kubelet.network import NetworkError, link_of
from rayfleet.kubelet.passage import Passage
from rayfleet.kubelet.sandbox import ANSWERS_IN, Identity, Sandbox, SandboxError, read_identity, remove_directory
from rayfleet.kubelet.shim.record import write as write_record
from rayfleet.kubelet.unhonoured import unhonoured
from rayfleet.kubelet.users import Account, account_of, as_request, give, hindrance

if TYPE_CHECKING:
    from rayfleet.kubelet.worker import Worker

RENEW_RETRY, RENEW_IN = 10.0, 10.0  # seconds
FOLLOWED = ("secret", "configmap")  # what volumes are made of and may change
FOLLOW = 10.0  # seconds between two looks at it
KEPT_LOGS = 2  # of each container: the current life's and the one before
KEPT_RECORDS = 10  # more than the back-off needs to remember that it has reached its longest delay


class Setup:
    def __init__(self, house: House, worker: Worker) -> None:
        self.house, self.worker = house, worker
        self.directory = worker.directory
        self.renew_at: float | None = None  # when the volumes must be filled again
        self.environments: dict[str, tuple[str, dict[str, str]]] = {}  # of each container: its life's uid and what it was given

    def address(self) -> str:
        taken = self.house.network.taken.get(self.worker.uid)
        return str(taken) if taken else self.worker.told.get("podIP", "")

    def hostname(self) -> str:
        return (self.worker.pod.spec.get("hostname") or self.worker.pod.metadata.name)[:63].rstrip("-.")

    async def adopt(self) -> None:
        """Takes over what an earlier kubelet left of this Pod, if anything."""
        identity = read_identity(self.directory)
        if identity is None or self.worker.outcome:
            return
        self.house.network.claim(self.worker.uid, identity.address)
        sandbox = Sandbox(self.directory, identity, self.worker.ended, self.worker.lost, self.worker.look_again)
        if await sandbox.connect() and sandbox.complete:
            self.worker.sandbox = sandbox
            if any(kind in ("token", *FOLLOWED) for kind, _ in self.volume_sources()):
                self.renew_at = 0.0  # nobody remembers how old they are
            self.worker.missed = True
            return
        await sandbox.destroy()
        self.worker.histories = read_histories(self.directory)
        self.record_losses()
        self.worker.earlier = {name: history[-1].attempt for name, history in self.worker.histories.items()}

    async def take_stock(self) -> None:
        """What the shim knows counts before what stands on the disk, which may have been full. Raises SandboxError."""
        assert self.worker.sandbox is not None
        known = await self.worker.sandbox.records()
        found = read_histories(self.directory)  # after it: who has ended in between has a record
        for attempt in known:
            found = with_attempt(found, attempt)
        self.worker.histories = found
        for history in found.values():
            if not history[-1].running:
                self.worker.ended(history[-1])
        self.record_losses({one.uid for one in known})

    def record_losses(self, alive: Collection[str] = ()) -> None:
        """Ends the attempts that nobody saw end."""
        for attempt in self.worker.running().values():
            if attempt.uid in alive:
                continue
            lost = msgspec.structs.replace(
                attempt, finished_at=time.time(), exit_code=LOST, error="the container was gone when the kubelet looked for it"
            )
            with contextlib.suppress(OSError):  # what a full disk does not take, the next kubelet finds out as well
                write_record(str(self.directory), msgspec.to_builtins(lost))
            self.worker.ended(lost)

    async def sandbox(self) -> None:
        """Makes it when there is none. Raises ConfigError, SandboxError, NetworkError or ApiError."""
        if self.worker.sandbox is not None:
            return
        spec, uid = self.worker.pod.spec, self.worker.uid
        async with self.house.starting:
            again = (self.directory / "pod.json").exists()
            address = self.house.network.claim(uid)
            meta = self.worker.pod.metadata
            identity = Identity(meta.namespace, meta.name, uid, str(address), link_of(uid))
            sandbox = Sandbox(self.directory, identity, self.worker.ended, self.worker.lost, self.worker.look_again)
            sandbox.prepare(self.hostname(), volumes.temporary(self.directory, spec.get("volumes") or []))
            await self.furnish()
            if again:  # an old one may be half made, or its link may outlive it by a moment
                if await sandbox.connect():
                    await sandbox.destroy()
                await self.house.network.detach(link_of(uid))
            await sandbox.launch()
            try:
                await self.house.network.attach(uid, sandbox.pid)
                if self.house.enforcer:
                    await self.house.enforcer.begin(self.worker.pod)
                sandbox.complete = True
            except NetworkError:
                await sandbox.destroy()
                raise
        self.worker.sandbox = sandbox
        if not again and (words := unhonoured(spec)):
            self.worker.tell("Warning", "NotHonoured", words)

    def group(self) -> int | None:
        """That volumes belong to (fsGroup)."""
        group: int | None = (self.worker.pod.spec.get("securityContext") or {}).get("fsGroup")
        return None if group is None or hindrance(Account(0, group)) else group

    async def furnish(self) -> None:
        await self.fill_volumes()
        if (group := self.group()) is not None:
            for volume in self.worker.pod.spec.get("volumes") or []:
                if not volume.get("hostPath"):
                    await asyncio.to_thread(give, volumes.place(self.directory, volume, None), group)
        pod, settings, hostname = self.worker.pod, self.house.settings, self.hostname()
        (self.directory / "hosts").write_text(etc.hosts(pod, hostname, self.address(), settings.domain))
        (self.directory / "resolv.conf").write_text(etc.resolv_conf(pod, settings))
        (self.directory / "hostname").write_text(hostname + "\n")

    async def fill_volumes(self) -> None:
        """Also again and again: before a token in them runs out, and to follow Secrets and ConfigMaps. Raises ConfigError or ApiError."""
        wanted = self.worker.pod.spec.get("volumes") or []
        for volume in wanted:
            if volume.get("ephemeral"):
                await claims.make_own(self.house.client, self.worker.pod, volume)
        facts = await self.facts(self.volume_sources())
        volumes.fill(self.directory, wanted, facts, self.house.settings.host_paths, self.group())
        now = time.time()
        times = [tokens.renew_at(facts.sources, now)]
        if any(kind in FOLLOWED for kind, _ in facts.sources):
            times.append(now + FOLLOW * self.house.settings.backoff_scale)
        self.renew_at = min(filter(None, times), default=None)

    def volume_sources(self) -> list[Source]:
        pod = self.worker.pod
        return volumes.sources_of(pod.spec.get("volumes") or [], pod.metadata.name)

    async def renew(self, now: float) -> None:
        """What the volumes hold, when it is time. What hinders it is tried again later, and hinders nothing else."""
        if self.renew_at is None or self.renew_at > now:
            return
        try:
            async with asyncio.timeout(RENEW_IN):
                await self.fill_volumes()
        except (ApiError, ConfigError, OSError) as error:  # a TimeoutError is one
            self.renew_at = now + RENEW_RETRY
            why = str(error) or "the API server does not answer"
            self.worker.tell("Warning", "FailedMount", f"the Pod's volumes could not be brought up to date: {why}")

    async def facts(self, sources: Iterable[Source]) -> Facts:
        pod = self.worker.pod
        fetched = await self.house.fetch(pod, sources)
        metadata = msgspec.to_builtins(pod.metadata)
        return Facts(metadata, pod.spec, self.address(), self.house.settings.address, self.house.capacity, fetched)

    async def start_container(self, name: str) -> None:
        """Raises ConfigError (NotReady, NotToBeHad), SandboxError or ApiError; a program that cannot be executed is a failed attempt."""
        assert self.worker.sandbox is not None
        pod, spec = self.worker.pod, self.worker.health.container(name)
        python = self.house.images.environment(spec.get("image") or "")
        history = self.worker.histories.get(name, ())
        attempt = history[-1].attempt + 1 if history else 0
        init = any(one["name"] == name for one in pod.init_containers)
        facts = await self.facts(env.sources_of(spec))
        account = self.account(spec, warn=not history)
        about = (spec, attempt, uuid.uuid4().hex, self.directory, facts, self.house.settings, self.hostname(), python, account)
        request = container.request(*about)
        self.environments[name] = (request["uid"], request["env"])
        request |= self.confine(name, attempt, spec, request["mounts"], init=init)
        container.make_scratch(self.directory, name, attempt)
        started = await self.worker.sandbox.start({**request, "init": init})
        self.worker.histories = with_attempt(self.worker.histories, started)
        await self.prune(name, attempt)
        if started.error:
            self.worker.waiting[name] = ("RunContainerError", started.error)
            self.worker.tell("Warning", "Failed", f"Error: {started.error}")
        else:
            self.worker.waiting.pop(name, None)
            self.worker.tell("Normal", "Started", f"Started container {name}")
            if not history and (words := await self.house.mismatch(pod, spec, python)):
                self.worker.tell("Warning", "ImageMismatch", words)
            self.worker.health.greet(name)

    def account(self, spec: dict[str, Any], *, warn: bool = False) -> Account | None:
        """Whose a container's processes are. Raises ConfigError."""
        pod = self.worker.pod
        try:
            wanted = account_of(pod.spec, spec)
        except ConfigError as error:
            meta = pod.metadata
            raise ConfigError(f'{error} (pod: "{meta.name}_{meta.namespace}({meta.uid})", container: {spec["name"]})') from error
        if wanted is None or not (hinders := hindrance(wanted)):
            return wanted
        if warn:
            words = f"container {spec['name']} runs as the fleet's own user, not as {wanted.user}:{wanted.group}: {hinders}"
            self.worker.tell("Warning", "UserNotHonoured", words)
        return None

    def confine(self, name: str, attempt: int, spec: dict[str, Any], mounts: list[list[str]], *, init: bool) -> dict[str, Any]:
        """The container's limits: the cgroups to join, and the mounts by which it sees them. Raises ConfigError or OSError.

        What only runs before the others takes the processors that are free: on a machine for one person a start must not wait."""
        groups, life = self.house.cgroups, f"{name}-{attempt}"
        try:
            limits = limits_of(spec)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        if init and spec.get("restartPolicy") != "Always":
            limits = replace(limits, cpu=None)
        if not limits:
            return {}
        if attempt == 0 and (words := groups.unheeded(name, limits)):
            self.worker.tell("Warning", "LimitsNotEnforced", words)
        if groups.tops:
            joined = groups.make(self.worker.uid, life, limits)
            return {"cgroups": [str(path) for path in joined], "mounts": [*mounts, *groups.views(joined)]}
        return {"mounts": [*mounts, *groups.pretend(self.directory / "cgroups" / name, limits)]}

    async def prune(self, name: str, attempt: int) -> None:
        """Removes what earlier lives of the container left: files always, logs and records when they are old."""
        folder = self.directory / "containers" / name
        self.house.cgroups.remove_life(self.worker.uid, f"{name}-{attempt - 1}")
        if attempt > 0:
            await asyncio.to_thread(remove_directory, container.scratch(self.directory, name, attempt - 1))
        for log in logs.files(folder / f"{attempt - KEPT_LOGS}.log"):
            log.unlink(missing_ok=True)
        last_words.file_of(self.directory, name, attempt - KEPT_LOGS).unlink(missing_ok=True)
        (folder / f"{attempt - KEPT_RECORDS}.json").unlink(missing_ok=True)

    async def execute(self, name: str, command: list[str], timeout: float) -> dict[str, Any]:
        """Runs a command inside a container, with its environment. Answers `code`, `output` and `late`.

        Raises SandboxError; ConfigError and ApiError for a container that an earlier kubelet started.
        """
        request = await self.inside(name, command)
        assert self.worker.sandbox is not None
        return await self.worker.sandbox.ask("exec", patience=timeout + ANSWERS_IN, timeout=timeout, **request)

    async def stream(self, name: str, command: list[str], *, stdin: bool, tty: bool) -> Passage:
        """The same for somebody who talks with the command. Raises as execute."""
        request = await self.inside(name, command)
        if tty:
            request["env"] = {"TERM": "xterm"} | request["env"]
        return await Passage.open(self.directory, "stream", stdin=stdin, tty=tty, **request)

    async def inside(self, name: str, command: list[str]) -> dict[str, Any]:
        """How a command runs in a container."""
        running = self.worker.running().get(name)
        if self.worker.sandbox is None or running is None:
            raise SandboxError(f"container {name} is not running")
        spec = self.worker.health.container(name)
        if self.environments.get(name, ("", {}))[0] != running.uid:
            facts = await self.facts(env.sources_of(spec))
            python = self.house.images.environment(spec.get("image") or "")
            values = env.environment(spec, container.base_environment(self.house.settings, self.hostname(), python), facts)
            self.environments[name] = (running.uid, values)
        about = {"env": self.environments[name][1], "cwd": spec.get("workingDir") or container.HOME}
        return {"name": name, "argv": command, "account": as_request(self.account(spec)), **about}

    async def take_down(self) -> None:
        """Ends processes, namespaces, mounts and links; records and logs stay, for `kubectl logs` of a finished Pod."""
        if self.worker.sandbox is not None:
            if not await self.worker.sandbox.destroy():
                self.worker.tell(
                    "Warning", "FailedKillPod", "a process of the Pod hangs in the kernel and outlives SIGKILL; it is left behind"
                )
            self.worker.sandbox = None
            self.record_losses()
        self.house.cgroups.remove(self.worker.uid)
        await self.house.network.detach(link_of(self.worker.uid))
        self.house.network.release(self.worker.uid)
        for path in [self.directory / "volumes", *self.directory.glob("containers/*/scratch-*")]:
            await asyncio.to_thread(remove_directory, path)

    async def clean(self) -> None:
        """Leaves nothing but the logs; what the Pod's claims hold goes when they are gone too."""
        await self.take_down()
        await asyncio.to_thread(keep, self.directory, self.house.settings.kept_logs)
        await asyncio.to_thread(remove_directory, self.directory)
        used = [volume for volume in self.worker.pod.spec.get("volumes") or () if volumes.claimed(volume)]
        for volume in used:
            if volume.get("ephemeral"):
                pod = self.worker.pod
                await claims.remove_own(self.house.client, pod, volumes.claim_name(volume, pod.metadata.name))
        if used:
            await claims.sweep(self.house.client, self.house.settings)
