"""The operator's settings as a table: which field of the configuration, which flags and which environment variable set it, and to what.

Names and meanings are KubeRay's where it has them (reference: KubeRay, 2.12, 5.1); the first flag of a row is its.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

TRUTHS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}
NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LATER = "not used yet"


class Form(NamedTuple):
    """What may stand in a setting: `parse` reads a flag or a variable (ValueError when it cannot), `fits` looks at the value."""

    metavar: str
    parse: Callable[[str], Any]
    fits: Callable[[Any], bool]
    allowed: str


def truth(text: str) -> bool:
    if text.lower() not in TRUTHS:
        raise ValueError(text)
    return TRUTHS[text.lower()]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(least: int, most: int) -> Form:
    return Form("N", int, lambda value: is_number(value) and value == int(value) and least <= value <= most, f"from {least} to {most}")


def choice(*names: str) -> Form:
    return Form("NAME", str, lambda value: value in names, " or ".join(name or '""' for name in names))


def is_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    _, colon, port = value.rpartition(":")
    return value in ("", "0") or (bool(colon) and port.isdigit() and int(port) < 65536)


def is_namespaces(value: Any) -> bool:
    return isinstance(value, str) and all(NAMESPACE.fullmatch(name.strip()) for name in value.split(",") if name)


TRUTH = Form("BOOL", truth, lambda value: isinstance(value, bool), "true or false")
TEXT = Form("TEXT", str, lambda value: isinstance(value, str), "a text")
RATE = Form("N", float, lambda value: is_number(value) and value > 0, "a number above 0")
COUNT = whole(1, 1000)
SECONDS = whole(0, 86400)
ADDRESS = Form("HOST:PORT", str, is_address, "HOST:PORT, for example 127.0.0.1:8080 or :8080, or 0 to serve nothing")
NAMESPACES = Form("NAME,...", str, is_namespaces, "names of namespaces with commas between them, or nothing for all")


class Setting(NamedTuple):
    """`unused` says why nothing heeds the setting, "" for one that is heeded."""

    field: str
    form: Form
    flags: tuple[str, ...] = ()
    env: str = ""
    told: str = ""
    unused: str = ""


ENCODERS = choice("auto", "json", "console")
SCHEDULERS = choice("", "volcano", "yunikorn", "kai-scheduler", "scheduler-plugins")
LEVELS = choice("debug", "info", "warning", "error")
NO_TIMER = "not used: nothing is looked at again on a timer; changes are watched"
NO_SERVER = "not used: there is no webhook server; see `rayfleet crds --policies`"
FLOW = "not used: the API server's own flow control is heeded instead"

SETTINGS = (
    Setting("metrics_addr", ADDRESS, ("--metrics-addr",), told="Serve /metrics there, and probes as well [default: nowhere]."),
    Setting("probe_addr", ADDRESS, ("--health-probe-bind-address",), told="Serve /healthz and /readyz there [default: nowhere]."),
    Setting("enable_leader_election", TRUTH, ("--enable-leader-election", "--leader-election"), told="Of several operators one writes."),
    Setting(
        "leader_election_namespace", TEXT, ("--leader-election-namespace",), told="Where the lease is [default: the operator's namespace]."
    ),
    Setting("reconcile_concurrency", COUNT, ("--reconcile-concurrency", "--workers"), told="How many clusters at once [default: 16]."),
    Setting("watch_namespace", NAMESPACES, ("--watch-namespace",), told="Look after these namespaces only [default: all]."),
    Setting("log_file", TEXT, ("--log-file-path",), told="Log to this file as well."),
    Setting("log_file_encoder", ENCODERS, ("--log-file-encoder",), told="json or console [default: json]."),
    Setting(
        "log_stdout_encoder",
        ENCODERS,
        ("--log-stdout-encoder", "--log-format"),
        told="json, console or auto: JSON but on a terminal.",
    ),
    Setting("log_level", LEVELS, ("--log-level",), told="debug, info, warning or error: from which level on [default: info]."),
    Setting("batch_scheduler", SCHEDULERS, ("--batch-scheduler",), told="A gang scheduler.", unused=LATER),
    Setting("enable_batch_scheduler", TRUTH, ("--enable-batch-scheduler",), told="The old way to say volcano.", unused=LATER),
    Setting("use_kubernetes_proxy", TRUTH, ("--use-kubernetes-proxy",), told="Reach dashboards through the API server."),
    Setting(
        "delete_ray_job_after_job_finishes",
        TRUTH,
        env="DELETE_RAYJOB_CR_AFTER_JOB_FINISHES",
        told="Delete a RayJob when its job has ended.",
    ),
    Setting("enable_metrics", TRUTH, ("--enable-metrics",), told="KubeRay's own metrics among the others [default: true]."),
    Setting("qps", RATE, ("--qps",), told="Requests a second.", unused=FLOW),
    Setting("burst", whole(1, 1_000_000), ("--burst",), told="Requests at once.", unused=FLOW),
    Setting("cluster_domain", TEXT, env="CLUSTER_DOMAIN", told="The DNS domain of the Kubernetes cluster."),
    Setting("enable_probes_injection", TRUTH, env="ENABLE_PROBES_INJECTION", told="Give Ray containers probes where the user gave none."),
    Setting(
        "enable_init_container_injection",
        TRUTH,
        env="ENABLE_INIT_CONTAINER_INJECTION",
        told="Let workers wait for the head in an init container.",
    ),
    Setting("enable_login_shell", TRUTH, env="ENABLE_LOGIN_SHELL", told="Start Ray in a login shell."),
    Setting(
        "enable_deterministic_head_pod_name", TRUTH, env="ENABLE_DETERMINISTIC_HEAD_POD_NAME", told="Always the same name for a head Pod."
    ),
    Setting(
        "enable_ray_head_cluster_ip_service",
        TRUTH,
        env="ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE",
        told="Give the head Service an address of its own instead of being headless.",
    ),
    Setting("use_ingress_on_openshift", TRUTH, env="USE_INGRESS_ON_OPENSHIFT", told="An Ingress, not a Route, on OpenShift."),
    Setting("enable_random_pod_delete", TRUTH, env="ENABLE_RANDOM_POD_DELETE", told="Remove surplus workers of autoscaled groups as well."),
    Setting("enable_gcs_ft_redis_cleanup", TRUTH, env="ENABLE_GCS_FT_REDIS_CLEANUP", told="Clean Redis when a cluster is deleted."),
    Setting(
        "enable_zero_downtime",
        TRUTH,
        env="ENABLE_ZERO_DOWNTIME",
        told="Let a RayService prepare its next cluster beside the living one.",
    ),
    Setting("enable_webhooks", TRUTH, env="ENABLE_WEBHOOKS", told="Serve admission webhooks.", unused=NO_SERVER),
    Setting(
        "default_requeue_seconds",
        SECONDS,
        env="RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV",
        told="Look at each cluster again after so many seconds.",
        unused=NO_TIMER,
    ),
    Setting(
        "ray_job_transition_grace_seconds",
        SECONDS,
        env="RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS",
        told="How long a RayJob's status may lag behind its job.",
    ),
    Setting(
        "ray_job_status_check_timeout_seconds",
        SECONDS,
        env="RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS",
        told="How long a job's status may be unknown.",
    ),
    Setting("gcs_wait_period_seconds", whole(1, 3600), told="How often a waiting worker asks for the head."),
    Setting(
        "default_auth_mode",
        choice("", "disabled", "token"),
        told="The authOptions.mode of clusters that say nothing of it, where their Ray version knows tokens.",
    ),
    Setting(
        "autoscaling",
        choice("sidecar", "hosted"),
        ("--autoscaling",),
        told="Who sizes clusters with enableInTreeAutoscaling that do not say it: Ray's container beside each head, or the operator.",
    ),
    Setting("head_address", choice("service", "pod"), told="Reach dashboards by their Service's name, or at the head Pod's address."),
    Setting("has_routes", TRUTH, told="The API serves OpenShift's Routes [default: it is asked at start]."),
    Setting("has_old_clusters", TRUTH, told="The API serves RayClusters of cluster.ray.io [default: it is asked]."),
    Setting("has_cron_job_generation", TRUTH, told="It keeps a RayCronJob's observedGeneration [default: it is asked at start]."),
)
UNUSED_GATES = {
    "RayClusterStatusConditions": "not used: conditions are always written",
    "KubernetesWAS": LATER,
}
DISCOVERED = {"has_routes": "hasRoutes", "has_old_clusters": "hasOldClusters", "has_cron_job_generation": "hasCronJobGeneration"}
"""Fields, and their names in a file, that the API server is asked about unless the configuration says them."""
BY_FIELD = {setting.field: setting for setting in SETTINGS}
