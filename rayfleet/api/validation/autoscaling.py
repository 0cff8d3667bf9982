"""Autoscaling: what each of its versions can and cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api import labels
from rayfleet.api.fault import Fault, shown
from rayfleet.api.raycluster import AutoscalerOptions
from rayfleet.api.scaler import CHOICES
from rayfleet.api.template import EnvVar, VolumeMount, read_list
from rayfleet.api.validation.subject import AUTOSCALER_V2_SWITCH, AnyGroup, Subject
from rayfleet.api.validation.versions import too_old

START_COMMAND = "KUBERAY_GEN_AUTOSCALER_START_CMD"
PRIORITY_SINCE = "2.56.0"


def autoscaling_faults(subject: Subject) -> Iterator[Fault]:
    yield from choice_faults(subject)
    yield from switch_faults(subject)
    if subject.spec.autoscaler_options:
        yield from option_faults(subject.spec.autoscaler_options, f"{subject.path}.autoscalerOptions")
    for group in subject.workers:
        yield from idle_faults(subject, group.path, group.spec.idle_timeout_seconds)
        yield from priority_faults(subject, group.path, group.spec.priority)
        yield from suspend_faults(subject, group.path, group.spec.suspend)
    if subject.autoscaling and subject.autoscaler_v2:
        for each in subject.groups:
            yield from restart_faults(each)


def choice_faults(subject: Subject) -> Iterator[Fault]:
    chosen = subject.annotations.get(labels.AUTOSCALING, "")
    if chosen and chosen not in CHOICES:
        yield Fault(f"metadata.annotations[{labels.AUTOSCALING}]", f"{shown(chosen)} is no way to autoscale", f"use {' or '.join(CHOICES)}")


def switch_faults(subject: Subject) -> Iterator[Fault]:
    """The head's environment is the older way to ask for v2."""
    variable = subject.head.template.ray.variable(AUTOSCALER_V2_SWITCH)
    path = f"{subject.head.ray_path}.env"
    if variable is None:
        return
    options = subject.spec.autoscaler_options
    if subject.autoscaling and options and options.version is not None:
        yield Fault(path, f"{AUTOSCALER_V2_SWITCH} is set together with autoscalerOptions.version", "only the latter may be used")
    if not subject.autoscaling and variable.value in ("1", "true"):
        yield Fault(path, f"{AUTOSCALER_V2_SWITCH} is {variable.value} without autoscaling", "it needs enableInTreeAutoscaling: true")


def option_faults(options: AutoscalerOptions, path: str) -> Iterator[Fault]:
    seconds = options.idle_timeout_seconds
    if seconds is not None and seconds < 0:
        yield Fault(f"{path}.idleTimeoutSeconds", f"{seconds} is negative", "it must be 0 or more")
    variables, faults = read_list(options.env, EnvVar, f"{path}.env")
    yield from faults
    yield from read_list(options.volume_mounts, VolumeMount, f"{path}.volumeMounts")[1]
    if any(variable.name == START_COMMAND for variable in variables):
        yield Fault(f"{path}.env", f"{START_COMMAND} is set by the operator", "it may be used in args, not set")


def idle_faults(subject: Subject, path: str, seconds: int | None) -> Iterator[Fault]:
    if seconds is None:
        return
    if seconds < 0:
        yield Fault(f"{path}.idleTimeoutSeconds", f"{seconds} is negative", "it must be 0 or more")
    if not subject.autoscaler_v2 and not subject.hosted:
        yield Fault(f"{path}.idleTimeoutSeconds", "needs autoscaler v2", "set autoscalerOptions.version: v2")


def priority_faults(subject: Subject, path: str, priority: int) -> Iterator[Fault]:
    if not priority or subject.hosted:
        return
    old = too_old(subject.spec.ray_version, PRIORITY_SINCE)
    if old:
        yield Fault(f"{path}.priority", f"{priority} needs Ray {PRIORITY_SINCE} or later, and {old}", "it must be 0 or left out")
    if not subject.autoscaler_v2:
        yield Fault(f"{path}.priority", f"{priority} needs autoscaler v2", "set autoscalerOptions.version: v2")


def suspend_faults(subject: Subject, path: str, suspend: bool | None) -> Iterator[Fault]:
    if not suspend:
        return
    if subject.autoscaling:
        yield Fault(f"{path}.suspend", "a group cannot be suspended while the autoscaler sizes it", "it must be false with autoscaling")
    if not subject.config.gate("RayJobDeletionPolicy"):
        yield Fault(f"{path}.suspend", "needs the feature gate RayJobDeletionPolicy, which is off")


def restart_faults(group: AnyGroup) -> Iterator[Fault]:
    policy = group.template.spec.restart_policy
    if policy not in ("", "Never"):
        path = f"{group.path}.template.spec.restartPolicy"
        yield Fault(path, f"{shown(policy)} does not go with autoscaler v2", "it must be Never or left out")
