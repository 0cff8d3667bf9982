"""Token authentication, by the Ray versions that know it."""

from __future__ import annotations

from collections.abc import Iterator

from rayfleet.api.fault import Fault, shown
from rayfleet.api.validation.cluster_names import DNS_1123
from rayfleet.api.validation.subject import Subject
from rayfleet.api.validation.versions import too_old

NAME_LIMIT = 253
TOKEN_SINCE, KUBERNETES_TOKEN_SINCE = "2.52.0", "2.55.0"


def auth_faults(subject: Subject) -> Iterator[Fault]:
    options = subject.spec.auth_options
    if options is None:
        return
    path = f"{subject.path}.authOptions"
    version = subject.spec.ray_version
    if options.mode == "token" and (old := too_old(version, TOKEN_SINCE)):
        yield Fault(f"{path}.mode", f"token needs Ray {TOKEN_SINCE} or later, and {old}", "set rayVersion, or leave mode out")
    if options.secret_name and not (len(options.secret_name) <= NAME_LIMIT and DNS_1123.fullmatch(options.secret_name)):
        rule = "it must be that of a Secret in the cluster's own namespace"
        yield Fault(f"{path}.secretName", f"{shown(options.secret_name)} is no name", rule)
    if not options.enable_k8s_token_auth:
        return
    path = f"{path}.enableK8sTokenAuth"
    if options.mode != "token":
        yield Fault(path, "needs mode: token")
    elif old := too_old(version, KUBERNETES_TOKEN_SINCE):
        yield Fault(path, f"needs Ray {KUBERNETES_TOKEN_SINCE} or later, and {old}")
    if options.secret_name:
        yield Fault(path, "does not go with secretName", "only one of the two may be used")
