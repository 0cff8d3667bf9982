"""What the policies in force say to a request: refusals, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rayfleet.apiserver.cel.program import COST_LIMIT, program
from rayfleet.apiserver.cel.syntax import Unreadable
from rayfleet.apiserver.cel.values import Budget, Exhausted, Failure, NoKey, Thing
from rayfleet.apiserver.policies.authorizer import Authorizer
from rayfleet.apiserver.policies.matching import EXEMPT, matches
from rayfleet.apiserver.policies.request import DELETE, Request
from rayfleet.apiserver.record import Obj, Record
from rayfleet.apiserver.registry import Served
from rayfleet.apiserver.status_error import StatusError, forbidden
from rayfleet.planning.selection import selects

if TYPE_CHECKING:
    from rayfleet.apiserver.api import Api
    from rayfleet.apiserver.auth import User

GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{GROUP}", f"validatingadmissionpolicybindings.{GROUP}"
CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_LONGEST = 5 * 1024
"""letters of a message that an expression makes"""


@dataclass(frozen=True, slots=True)
class Denial:
    message: str
    reason: str = "Invalid"


def judge(request: Request) -> list[str]:
    """The warnings of the policies that are bound. Raises StatusError for the first that denies."""
    api = request.api
    if request.served.kind.resource in EXEMPT:
        return []
    warnings: list[str] = []
    budget = Budget(COST_LIMIT)
    for record in api.store.select(BINDINGS):
        binding = record.decode()
        found = api.store.get(POLICIES, "", binding["spec"].get("policyName") or "")
        if found is None:
            continue
        policy = found.decode()
        actions = binding["spec"].get("validationActions") or ()
        for denial in _denials(request, policy, binding, budget):
            if "Warn" in actions:
                what = f"Validation failed for ValidatingAdmissionPolicy '{found.name}' with binding '{record.name}': "
                warnings.append(what + denial.message)
            if "Deny" in actions:
                what = f"ValidatingAdmissionPolicy '{found.name}' with binding '{record.name}' denied request: "
                raise _refusal(request, what + denial.message, denial.reason, warnings)
    return warnings


def judge_deletion(api: Api, served: Served, record: Record, user: User | None, dry_run: bool) -> list[str]:
    """The warnings. Raises StatusError: what a policy denies."""
    if user is None or api.store.is_unused(BINDINGS):
        return []
    return judge(Request(api, served, DELETE, record.namespace, record.name, None, record.decode(), user, dry_run=dry_run))


def _refusal(request: Request, message: str, reason: str, warnings: list[str]) -> StatusError:
    kind = request.served.kind
    refusal = forbidden(kind.group, kind.plural, request.name, message)
    refusal.code, refusal.reason, refusal.warnings = CODES.get(reason, 422), reason, warnings
    refusal.details["causes"] = [{"message": message}]
    return refusal


def _denials(request: Request, policy: Obj, binding: Obj, budget: Budget) -> Iterator[Denial]:
    spec = policy["spec"]
    if not matches(spec.get("matchConstraints") or {}, request) or not matches(binding["spec"].get("matchResources") or {}, request):
        return
    try:
        for params in _params(request, spec.get("paramKind"), binding["spec"].get("paramRef")):
            yield from _of_one(request, spec, params, budget)
    except _Unusable as failure:
        if (spec.get("failurePolicy") or "Fail") == "Fail":
            yield Denial(str(failure))


def _of_one(request: Request, spec: Obj, params: Obj | None, budget: Budget) -> Iterator[Denial]:
    """With one object of parameters, or none."""
    names: dict[str, Any] = {"object": request.obj, "oldObject": request.old, "request": request.described(), "params": params}
    names |= {"namespaceObject": request.home, "authorizer": Authorizer(request)}
    if not _meant(spec.get("matchConditions") or (), names, budget):
        return
    names["variables"] = Variables(spec.get("variables") or (), names, budget)
    for validation in spec.get("validations") or ():
        text = validation["expression"]
        try:
            if program(text).execute(names, budget) is True:
                continue
        except (Failure, Unreadable) as failure:
            if (spec.get("failurePolicy") or "Fail") == "Fail":
                yield Denial(f"expression '{text}' resulted in error: {failure}")
            if isinstance(failure, Exhausted):
                return
            continue
        yield Denial(_message(validation, names, budget), validation.get("reason") or "Invalid")


def _meant(conditions: Any, names: dict[str, Any], budget: Budget) -> bool:
    """A condition that is false decides; an error counts only when none is. Raises _Unusable."""
    errors = []
    for condition in conditions:
        try:
            if program(condition["expression"]).execute(names, budget) is not True:
                return False
        except (Failure, Unreadable) as failure:
            errors.append(f"expression '{condition['expression']}' resulted in error: {failure}")
    if errors:
        raise _Unusable(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return True


def _message(validation: Obj, names: dict[str, Any], budget: Budget) -> str:
    if text := validation.get("messageExpression"):
        try:
            said = program(text).execute(names, budget)
        except (Failure, Unreadable):
            said = ""
        if isinstance(said, str) and said.strip() and len(said) <= _LONGEST and "\n" not in said:
            return said.strip()
    if said := validation.get("message"):
        return str(said).strip()
    return f"failed expression: {validation['expression'].strip()}"


class _Unusable(Exception):
    """A policy that cannot be asked."""


def _params(request: Request, kind: Obj | None, reference: Obj | None) -> Iterator[Obj | None]:
    """What the binding refers to, object by object. Raises _Unusable."""
    if not kind or not reference:
        yield None
        return
    group, _, version = str(kind.get("apiVersion") or "").rpartition("/")
    served = next((each for each in request.api.registry.within(group, version) if each.kind.name == kind.get("kind")), None)
    if served is None:
        raise _Unusable(
            f"failed to configure policy: failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind.get('kind')}'"
        )
    namespace = (reference.get("namespace") or request.namespace) if served.kind.namespaced else ""
    store, resource = request.api.store, served.kind.resource
    if name := reference.get("name"):
        found = [record] if (record := store.get(resource, namespace, name)) else []
    else:
        found = [each for each in store.select(resource, namespace) if selects(reference.get("selector") or {}, each.labels)]
    if not found and (reference.get("parameterNotFoundAction") or "Deny") == "Deny":
        raise _Unusable("no params found for policy binding with `Deny` parameterNotFoundAction")
    yield from (record.decode() for record in found)


class Variables(Thing):
    """The policy's own names, each reckoned when it is first asked for, with those before it."""

    def __init__(self, variables: Any, names: dict[str, Any], budget: Budget) -> None:
        self._texts = {each["name"]: each["expression"] for each in variables}
        self._names = names
        self._budget = budget
        self._known: dict[str, Any] = {}

    def has(self, name: str) -> bool:
        return name in self._texts

    def member(self, name: str) -> Any:
        if name not in self._texts:
            raise NoKey(name)
        if name not in self._known:
            self._known[name] = self._reckoned(name)
        if isinstance(known := self._known[name], Failure):
            raise known
        return known

    def _reckoned(self, name: str) -> Any:
        try:
            return program(self._texts[name]).execute({**self._names, "variables": self}, self._budget)
        except Exhausted:
            raise
        except (Failure, Unreadable) as failure:
            return Failure(f'composited variable "{name}" fails to evaluate: {failure}')
