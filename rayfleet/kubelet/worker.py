"""One Pod: brings what runs to what the API asks for, and tells the API what runs.

The worker is one task. What happens around it (an update, a container's end, a verdict of a probe, a back-off that is over) only wakes it;
it then looks at everything anew. What it must remember lies in the Pod's directory, so a later kubelet's worker goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path

from rayfleet.api.meta import PODS
from rayfleet.kube.errors import ApiError, Conflict, NotFound, Unreachable
from rayfleet.kubelet import status
from rayfleet.kubelet.attempt import Attempt, History, read_histories, with_attempt
from rayfleet.kubelet.ending import Ending
from rayfleet.kubelet.env import ConfigError
from rayfleet.kubelet.health import Health
from rayfleet.kubelet.house import House
from rayfleet.kubelet.images import NotReady, NotToBeHad
from rayfleet.kubelet.last_words import message
from rayfleet.kubelet.network import NetworkError
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.sandbox import Sandbox, SandboxError
from rayfleet.kubelet.setup import Setup
from rayfleet.kubelet.steps import Steps, next_steps

log = logging.getLogger(__name__)
PULLING = "ContainerCreating"  # what Kubernetes says while it pulls an image
IMAGE_LOOK = 0.5  # seconds between two looks at an environment that is being made
CONFIG_RETRY = 10.0  # seconds between two tries of what a spec or a missing Secret forbids
API_RETRY = 1.0
PATIENCE = 10.0  # seconds for an API server that hangs: what is due in the Pod must not wait for it
EVICTED_IN = 1.0  # seconds of grace, as a kubelet grants to whom it evicts
DEADLINE = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class Worker:
    def __init__(self, house: House, pod: Pod) -> None:
        self.house, self.pod, self.uid = house, pod, pod.metadata.uid
        self.directory: Path = house.settings.pods / self.uid
        self.setup = Setup(house, self)
        self.health = Health(self)
        self.ending = Ending(self)
        self.sandbox: Sandbox | None = None
        self.histories: dict[str, History] = read_histories(self.directory)
        self.earlier: dict[str, int] = {}  # each container's last attempt before the Pod was found without anything that runs
        self.last_words: dict[str, str] = {}
        self.waiting: dict[str, tuple[str, str]] = {}
        self.retry_at: dict[str, float] = {}  # container, or "" for the Pod as a whole -> when a refused configuration is tried again
        self.outcome = pod.status.get("phase", "") if pod.finished else ""
        self.failure = ("", "")
        self.told = pod.status
        self.told_version = 0
        self.looked_at = 0.0  # by the wall's clock
        self.adopted = False
        self.missed = False  # ends that the shim told
        self.absent = False
        self.done = asyncio.Event()
        self.wake = asyncio.Event()
        self.task = asyncio.create_task(self.run())

    # what happens around it

    def update(self, pod: Pod) -> None:
        before, self.pod = self.pod.metadata, pod
        if self.sandbox is not None and (before.labels, before.annotations) != (pod.metadata.labels, pod.metadata.annotations):
            self.setup.renew_at = 0.0  # files of volumes may hold them
        if int(pod.metadata.resource_version or 0) >= self.told_version:
            self.told = pod.status
        if pod.metadata.deletion_timestamp and pod.metadata.deletion_grace_period_seconds == 0:
            self.ending.hurry.set()
        self.wake.set()

    def vanish(self) -> None:
        """The API knows the Pod no more: it ends at once."""
        self.absent = True
        self.ending.hurry.set()
        self.wake.set()

    def ended(self, attempt: Attempt) -> None:
        self.histories = with_attempt(self.histories, attempt)
        self.health.forget(attempt.name)
        self.ending.end_of(attempt.uid).set()
        self.wake.set()

    def lost(self) -> None:
        """The shim has ended, and with it all that ran."""
        self.sandbox = None
        self.setup.record_losses()
        self.wake.set()

    def evict(self, why: str) -> None:
        """The Pod ends at once and for good."""
        if not self.outcome and not self.pod.metadata.deletion_timestamp:
            self.outcome, self.failure = "Failed", ("Evicted", why)
            self.tell("Warning", "Evicted", why)
            self.wake.set()

    def look_again(self) -> None:
        """The shim lives; what it told meanwhile was not heard. What stands on the disk is known at once: somebody may wait for an end."""
        self.missed = True
        for history in read_histories(self.directory).values():
            if not history[-1].running:
                self.ended(history[-1])
        self.wake.set()

    # the loop

    async def run(self) -> None:
        try:
            while not self.done.is_set():
                self.wake.clear()
                pause = await self.attempt_sync()
                if not self.done.is_set():
                    await self.sleep(pause)
        finally:
            self.health.close()
            if self.sandbox is not None:
                self.sandbox.let_go()

    async def sleep(self, seconds: float | None) -> None:
        """Not by wait_for, which before Python 3.12 loses an end that comes together with a wake."""
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            pass

    async def attempt_sync(self) -> float | None:
        """Seconds until it must look again, None: only when something happens."""
        try:
            return await self.sync()
        except ApiError as error:
            if not isinstance(error, Conflict):
                log.warning("pod %s: %s; trying again", self.pod.metadata.key, error)
            return error.retry_after or API_RETRY
        except (SandboxError, NetworkError, OSError) as error:
            self.tell("Warning", "FailedCreatePodSandBox", str(error))
        except Exception as error:  # nonsense in one Pod's spec is that Pod's trouble alone
            log.exception("pod %s cannot be synced", self.pod.metadata.key)
            self.tell("Warning", "FailedSync", f"{type(error).__name__}: {error}")
        return await self.wait_longer()

    async def wait_longer(self) -> float:
        """After what only another spec or another machine would mend: that it waits is told, too."""
        with suppress(Exception):  # what hinders the Pod may hinder this as well
            await self.report()
        return CONFIG_RETRY * self.house.settings.backoff_scale

    async def sync(self) -> float | None:
        if not self.adopted:
            await self.setup.adopt()
            self.adopted = True
        if self.missed and self.sandbox is not None:
            await self.setup.take_stock()
            self.missed = False
        if self.absent or self.pod.metadata.deletion_timestamp:
            await self.ending.run()
            return None
        pause = None if self.outcome else await self.advance()
        if self.outcome and self.sandbox is not None:
            await self.ending.stop_everything(EVICTED_IN if self.failure[0] == "Evicted" else self.ending.grace())
            await self.setup.take_down()
        await self.report()
        return pause

    async def advance(self) -> float | None:
        now, begun, spec = time.time(), time.monotonic(), self.pod.spec
        if now < self.looked_at:  # the clock was set back: nothing that is waited for may be that much farther away
            self.retry_at.clear()
            self.setup.renew_at = None if self.setup.renew_at is None else now
        self.looked_at = now
        started = self.health.started(self.running())
        steps = next_steps(spec, self.histories, started, now, self.house.settings.backoff_scale, self.earlier)
        self.outcome = steps.outcome
        deadline = self.deadline()
        if deadline is not None and now >= deadline and not self.outcome:
            self.outcome, self.failure = "Failed", DEADLINE
        if self.outcome:
            return None
        await self.setup.renew(now)
        await self.start_due(steps, now)
        self.explain_waits(steps)
        self.health.follow(self.running())
        self.retry_at = {name: at for name, at in self.retry_at.items() if at > now}
        times = [*self.retry_at.values(), *filter(None, (steps.wake_at, deadline, self.setup.renew_at))]
        return max(0.0, min(times) - now - (time.monotonic() - begun)) if times else None

    async def start_due(self, steps: Steps, now: float) -> None:
        """Sandbox first. A configuration that is refused is tried again after a while, without counting as a restart."""
        if not steps.start and self.sandbox is not None:
            return
        for name in ("", *steps.start):
            if self.retry_at.get(name, 0.0) > now:
                if not name:
                    return
                continue
            self.retry_at.pop(name, None)
            try:
                await (self.setup.start_container(name) if name else self.setup.sandbox())
            except NotReady as wait:
                self.await_image(name, str(wait), now)
            except NotToBeHad as failure:
                self.refuse_image(name, str(failure), now)
            except ConfigError as error:
                self.refuse(name, str(error), now)
                if not name:
                    return

    def refuse(self, name: str, message: str, now: float) -> None:
        self.retry_at[name] = now + CONFIG_RETRY * self.house.settings.backoff_scale
        if name:
            self.waiting[name] = ("CreateContainerConfigError", message)
            self.tell("Warning", "Failed", f"Error: {message}")
        else:
            self.tell("Warning", "FailedMount", message)

    def await_image(self, name: str, words: str, now: float) -> None:
        if self.waiting.get(name, ("",))[0] != PULLING:
            self.tell("Normal", "Pulling", f"container {name}: {words}")
        self.waiting[name] = (PULLING, words)
        self.retry_at[name] = now + IMAGE_LOOK

    def refuse_image(self, name: str, words: str, now: float) -> None:
        self.waiting[name] = ("ErrImagePull", words)
        self.retry_at[name] = now + CONFIG_RETRY * self.house.settings.backoff_scale
        self.tell("Warning", "Failed", f"container {name}: {words}")

    def explain_waits(self, steps: Steps) -> None:
        meta = self.pod.metadata
        for name, seconds in steps.backing_off.items():
            words = f"back-off {seconds:g}s restarting failed container={name} pod={meta.name}_{meta.namespace}({meta.uid})"
            if self.waiting.get(name, ("", ""))[1] != words:
                self.tell("Warning", "BackOff", words)
            self.waiting[name] = ("CrashLoopBackOff", words)

    def deadline(self) -> float | None:
        seconds, since = self.pod.spec.get("activeDeadlineSeconds"), self.told.get("startTime")
        return status.seconds_of(since) + seconds if seconds and since else None

    def running(self) -> dict[str, Attempt]:
        return {name: history[-1] for name, history in self.histories.items() if history and history[-1].running}

    # what it tells

    def tell(self, kind: str, reason: str, note: str) -> None:
        self.house.events.record(self.pod, kind, reason, note)

    def hear_last_words(self) -> dict[str, str]:
        """Of each container's last two lives, as no status tells of more."""
        ended = [one for history in self.histories.values() for one in history[-2:] if not one.running]
        known = self.last_words
        self.last_words = {
            one.uid: known[one.uid] if one.uid in known else message(self.directory, one, self.health.container(one.name)) for one in ended
        }
        return self.last_words

    async def report(self) -> None:
        """One merge patch of the status when, and only when, something in it changed."""
        running = self.running()
        new = status.pod_status(
            status.Observed(
                spec=self.pod.spec,
                old=self.told,
                histories=self.histories,
                waiting=self.waiting,
                started=frozenset(self.health.started(running)),
                ready=frozenset(self.health.ready(running)),
                outcome=self.outcome,
                pod_ip=self.setup.address(),
                host_ip=self.house.settings.address,
                now=time.time(),
                failure=self.failure,
                last_words=self.hear_last_words(),
                sandbox=self.sandbox is not None,
                generation=self.pod.metadata.generation,
            )
        )
        patch = status.changes(self.told, new)
        if not patch:
            return
        meta = self.pod.metadata
        body = {"metadata": {"uid": meta.uid}, "status": patch}
        try:
            async with asyncio.timeout(PATIENCE):
                written = await self.house.client.patch(PODS, meta.name, meta.namespace, body, subresource="status")
        except NotFound:  # its deletion is on the way to us
            return
        except TimeoutError as error:
            raise Unreachable(f"no answer within {PATIENCE:g} s") from error
        self.told, self.told_version = {**self.told, **new}, int(written["metadata"]["resourceVersion"])
