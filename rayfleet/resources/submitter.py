"""Who submits the job of a RayJob where the operator does not: a Job of Kubernetes, or a container beside the head (KubeRay, 3.1).

What is submitted travels as JSON in one environment variable, so that no shell and no expansion of `$(NAME)` ever reads an entry point.
"""

from __future__ import annotations

from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import JOBS, RAYJOBS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.rayjob import RayJob
from rayfleet.resources import auth, ports
from rayfleet.resources.env import head_host, literal, merged
from rayfleet.resources.ownership import owned_by
from rayfleet.resources.pod_template import head_service_of, object_of, ray_container, template_of
from rayfleet.resources.services import dashboard_port
from rayfleet.resources.submitter_program import PROGRAM

Manifest = dict[str, Any]
CONTAINER = "ray-job-submitter"
RETRIES, RESTARTS = 2, 2
RESTART_GATE = "SidecarSubmitterRestart"
ADDRESS, SUBMISSION_ID = "RAY_DASHBOARD_ADDRESS", "RAY_JOB_SUBMISSION_ID"
SUBMISSION, SESSION = "RAYFLEET_SUBMISSION", "RAYFLEET_RAY_SESSION"
RESOURCES = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}


def submitter_job(job: RayJob, cluster: RayCluster, submission: bytes, session: str, config: Configuration) -> Manifest:
    """`submission` is the JSON that Ray is sent, `session` the life of Ray in which it may be ("": any)."""
    meta = job.metadata
    marks = {
        labels.APP_CREATED_BY: labels.KUBERAY_OPERATOR,
        labels.ORIGINATED_FROM_NAME: meta.name,
        labels.ORIGINATED_FROM_KIND: RAYJOBS.kind,
    }
    given = object_of(job.spec.submitter_pod_template)
    pod: Manifest = {"restartPolicy": "Never", **(given.get("spec") or {})}
    own, *others = pod.get("containers") or [{"resources": RESOURCES}]
    variables = [literal(SESSION, session)] if session else []
    submitting = container(
        own,
        job,
        cluster,
        f"{head_host(cluster, config, head_service_of(cluster))}:{dashboard_port(cluster)}",
        submission,
        variables,
        config,
    )
    metadata: Manifest = given.get("metadata") or {}
    limit = job.spec.submitter_config.backoff_limit if job.spec.submitter_config else None
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "labels": marks, "ownerReferences": [owned_by(RAYJOBS, meta)]},
        "spec": {
            "backoffLimit": RETRIES if limit is None else limit,
            "template": {
                "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **marks, labels.NODE_TYPE: labels.SUBMITTER}},
                "spec": auth.with_token_volume(cluster, {**pod, "containers": [submitting, *others]}, config),
            },
        },
    }


def sidecar(job: RayJob, cluster: RayCluster, submission: bytes, config: Configuration) -> Manifest:
    """The container beside the head. The head's own life is the only one in which it submits; there it may be started again by itself, as
    it submits nothing that Ray has (feature gate SidecarSubmitterRestart; Kubernetes 1.35)."""
    port = ports.port_of(ports.DASHBOARD, cluster.spec.head_group_spec.ray_start_params)  # no Service is in between
    again = {"restartPolicy": "OnFailure"} if config.gate(RESTART_GATE) else {}
    return container({"resources": RESOURCES, **again}, job, cluster, f"127.0.0.1:{port}", submission, [], config)


def container(
    given: Manifest, job: RayJob, cluster: RayCluster, address: str, submission: bytes, more: list[Manifest], config: Configuration
) -> Manifest:
    head = ray_container(template_of(cluster.spec.head_group_spec.template))
    added = [
        literal("PYTHONUNBUFFERED", "1"),
        literal(ADDRESS, address),
        literal(SUBMISSION_ID, job.status.job_id),
        literal(SUBMISSION, submission.decode().replace("$", "\\u0024")),
        *more,
    ]
    made = {"name": CONTAINER, "image": head.get("image") or "", **given, "env": merged(given.get("env") or (), added)}
    if not made.get("command") and not made.get("args"):
        made |= {"command": ["python3", "-c"], "args": [PROGRAM]}
    return auth.with_auth(cluster, made, config)
