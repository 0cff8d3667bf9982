"""The Job that empties a deleted cluster's storage namespace in Redis, by Ray's own means and in Ray's own image (KubeRay, 2.7)."""

from __future__ import annotations

from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import JOBS
from rayfleet.api.names import cleanup_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.resources import tls
from rayfleet.resources.env import literal, merged
from rayfleet.resources.ownership import owner_reference
from rayfleet.resources.pod import head_pod

DEADLINE = 300  # seconds
PATIENCE = (("RAY_redis_db_connect_retries", "120"), ("RAY_redis_db_connect_wait_milliseconds", "500"))
SMALL = {"cpu": "200m", "memory": "256Mi"}
OF_A_HEAD = (labels.KUBERAY_VERSION, labels.RECREATE_HASH)
DROPPED = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")

# Of several addresses one is enough: Ray finds the others of a Redis cluster from there. Releases before 2.41 know no user name.
SCRIPT = """\
python - << 'END'
import os
from urllib.parse import urlsplit
from ray._private.gcs_utils import cleanup_redis_storage

first = os.environ["RAY_REDIS_ADDRESS"].split(",")[0].strip()
address = urlsplit(first if "://" in first else f"redis://{first}")
user = os.environ.get("REDIS_USERNAME") or address.username
namespace = os.environ["RAY_external_storage_namespace"]
done = cleanup_redis_storage(
    host=address.hostname,
    port=address.port or 6379,
    password=os.environ.get("REDIS_PASSWORD") or address.password or "",
    use_ssl=address.scheme == "rediss",
    storage_namespace=namespace,
    **({"username": user} if user else {}),
)
print(f"storage namespace {namespace}: {'emptied' if done else 'not emptied'}")
raise SystemExit(0 if done else 1)
END
"""


def cleanup_job(cluster: RayCluster, config: Configuration) -> dict[str, Any]:
    """The head's Pod, less all that makes it a head."""
    pod = head_pod(cluster, "", config)
    ray = {name: value for name, value in pod["spec"]["containers"][0].items() if name not in DROPPED}
    ray |= {
        "command": ["/bin/bash", "-c", "--"],
        "args": [SCRIPT],
        "env": merged(ray["env"], [literal(*each) for each in PATIENCE]),
        "resources": {"limits": dict(SMALL), "requests": dict(SMALL)},
    }
    # No certificate will ever name this Pod's address.
    initial = [each for each in pod["spec"].get("initContainers") or () if each.get("name") != tls.WAIT]
    marks = {**pod["metadata"]["labels"], labels.NODE_TYPE: labels.REDIS_CLEANUP}
    notes = {name: value for name, value in pod["metadata"]["annotations"].items() if name not in OF_A_HEAD}
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": cleanup_name(cluster.metadata.name),
            "namespace": cluster.metadata.namespace,
            "labels": marks,
            "annotations": notes,
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": DEADLINE,
            "template": {
                "metadata": {"labels": marks, "annotations": notes},
                "spec": {**pod["spec"], "initContainers": initial, "containers": [ray], "restartPolicy": "Never"},
            },
        },
    }
