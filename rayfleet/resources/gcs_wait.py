"""The init container that holds a worker back until the head's GCS answers (KubeRay, 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "wait-gcs-ready"
COPIED = ("image", "imagePullPolicy", "securityContext")
QUIET_SECONDS = 120

SCRIPT = """\
waited=0
until said=$(ray health-check --address {address} 2>&1); do
  if [ "$waited" -ge {quiet} ]; then
    echo "$waited s: the GCS at {address} does not answer yet: $said"
  fi
  sleep {pause}
  waited=$((waited + {pause}))
done
echo "the GCS at {address} answers after about $waited s"
"""


def wait_container(ray: Mapping[str, Any], address: str, variables: list[dict[str, Any]], shell: list[str], pause: int) -> dict[str, Any]:
    """`ray` is the Ray container whose image it shares; `address` the head's `host:port`; `pause` the seconds between two tries."""
    small = {"cpu": "200m", "memory": "256Mi"}
    return {
        "name": NAME,
        **{field: ray[field] for field in COPIED if ray.get(field)},
        "command": shell,
        "args": [SCRIPT.format(address=address, quiet=QUIET_SECONDS, pause=pause)],
        "env": [*(dict(variable) for variable in ray.get("env") or ()), *variables],
        **({"volumeMounts": ray["volumeMounts"]} if ray.get("volumeMounts") else {}),
        "resources": {"limits": dict(small), "requests": dict(small)},
    }
