"""A run as a story: each step's input, then every look of the operator that did something, with reasons, in the words of its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rayfleet.api.views import PodView
from rayfleet.kube.errors import ApiError
from rayfleet.planning.actions import Action, AddFinalizer, Create, Delete, Fence, OnOwner, Patch, RemoveFinalizer
from rayfleet.planning.plan import Plan
from rayfleet.sim.ideal_ray import Asked
from rayfleet.sim.leader import TURN, Turn
from rayfleet.sim.store import Change, Request
from rayfleet.sim.world import OPERATOR, World

VERBS = {Create: "create", Patch: "patch", Delete: "delete"}
Sent = dict[tuple[str, str, str], ApiError | None]


@dataclass
class Transcript:
    """Listens to a world from the start; `step` begins a new paragraph."""

    world: World
    lines: list[str] = field(default_factory=list)
    turns: list[tuple[Turn, Sent]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.before.append(lambda turn: self.turns.append((turn, {})))
        self.world.store.auditors.append(self.sent)

    def sent(self, request: Request, change: Change | None, error: ApiError | None) -> None:
        if request.actor.startswith(OPERATOR):
            answers = next(answers for turn, answers in reversed(self.turns) if turn is TURN.get())
            answers[request.verb, request.subresource or request.resource.plural, request.name] = error

    def step(self, title: str) -> None:
        self.flush()
        self.lines += ["", f"## {title}"] if self.lines else [f"## {title}"]

    def flush(self) -> None:
        """Write down what happened up to now."""
        for turn, answers in self.turns:
            told = [*actions_told(turn.plan, answers), *events_told(turn), *status_told(turn, answers)]
            if told:
                self.lines.append(f"{turn.at - self.world.clock.start:.1f} s: {pods_told(turn.observed.pods)}")
                self.lines += [f"  {line}" for line in told]
        self.turns.clear()

    @property
    def text(self) -> str:
        self.flush()
        return "\n".join(self.lines) + "\n"


def plan_told(plan: Plan, asked: Iterable[Asked] = ()) -> list[str]:
    """A plan that nobody carries out, as `rayfleet plan` shows it; `asked` is what Ray would be asked besides."""
    lines = list(actions_told(plan, None))
    for call in plan.calls:
        lines += [f"call raycluster/{call.target.cluster.name} {call.message.method} {call.message.path}", f"    {call.note}"]
    lines += [f"event {event.reason}: {event.note}" for event in plan.events]
    if plan.status is not None:
        lines.append(f"status {plan.status.reason}")
    return lines + [f"ask raycluster/{each.cluster.name} {each.what}" for each in asked]


def actions_told(plan: Plan, answers: Sent | None) -> Iterator[str]:
    """Actions that share a reason share the line that tells it."""
    for number, action in enumerate(plan.actions):
        key = (verb_of(action), action.resource.plural, action.name)
        reads = isinstance(action, Fence) and not action.annotations
        yield told(action) if reads else f"{told(action)}{outcome(answers, key)}"
        following = plan.actions[number + 1] if number + 1 < len(plan.actions) else None
        if following is None or (type(following), following.reason) != (type(action), action.reason):
            yield f"    because {action.reason}"


def told(action: Action) -> str:
    if isinstance(action, Fence) and not action.annotations:
        return f"ask for {action.resource.kind.lower()}/{action.name}"
    if isinstance(action, Fence):
        changes = ", ".join(f"{name}={value}" for name, value in sorted(action.annotations.items()))
        return f"annotate {action.resource.kind.lower()}/{action.name} {changes}"
    if isinstance(action, AddFinalizer | RemoveFinalizer):
        verb, names = ("hold" if isinstance(action, AddFinalizer) else "release"), ", ".join(action.finalizers) or "no finalizer"
        return f"{verb} {action.resource.kind.lower()}/{action.name} with {names}"
    return f"{VERBS[type(action)]} {action.resource.kind.lower()}/{action.name}"


def verb_of(action: Action) -> str:
    return "patch" if isinstance(action, OnOwner) else VERBS[type(action)]


def outcome(answers: Sent | None, key: tuple[str, str, str]) -> str:
    if answers is None:
        return ""
    if key not in answers:
        return "  (not sent)"
    error = answers[key]
    return f"  -> {error}" if error else ""


def events_told(turn: Turn) -> Iterator[str]:
    for event in turn.events:
        mark = "!" if event.type == "Warning" else ""
        yield f"event{mark} {event.reason}: {event.note}"


def status_told(turn: Turn, answers: Sent) -> Iterator[str]:
    """Only one that was written: counters are held back for a second."""
    key = ("patch", "status", turn.key.name)
    if turn.plan.status is not None and key in answers:
        yield f"status {turn.plan.status.reason}{outcome(answers, key)}"


def pods_told(pods: tuple[PodView, ...]) -> str:
    return ", ".join(f"{pod.name} ({condition_of(pod)})" for pod in pods) or "no Pods"


def condition_of(pod: PodView) -> str:
    if pod.terminating:
        return "terminating"
    if pod.ready:
        return "ready"
    return (pod.status.phase or "Pending").lower()
