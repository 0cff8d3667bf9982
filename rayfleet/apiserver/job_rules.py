"""What a Job must satisfy (k8s.io/kubernetes pkg/apis/batch/validation)."""

from __future__ import annotations

from rayfleet.apiserver.pod_rules import check_pod_spec
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import Cause, invalid_value, not_allowed, required

_LEFT_OUT = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
"""what the controller does not do, and so is not taken"""
_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")


def check_job(obj: Obj, old: Obj | None) -> list[Cause]:
    spec = obj["spec"]
    causes = [
        invalid_value(f"spec.{name}", spec[name], "must be greater than or equal to 0") for name in _COUNTS if (spec.get(name) or 0) < 0
    ]
    causes += [not_allowed(f"spec.{name}", "not supported by the embedded API") for name in _LEFT_OUT if name in spec]
    if old is not None:
        return causes + _check_unchanged(spec, old["spec"])
    template = spec["template"]["spec"]
    causes += check_pod_spec(template, "spec.template.spec")
    if template["restartPolicy"] not in ("OnFailure", "Never"):
        causes.append(required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    return causes


def _check_unchanged(spec: Obj, old: Obj) -> list[Cause]:
    names = ("completions", "selector", "completionMode", *(() if old.get("suspend") else ("template",)))
    return [invalid_value(f"spec.{name}", spec.get(name), "field is immutable") for name in names if spec.get(name) != old.get(name)]
