"""Labels, annotations and finalizers. KubeRay's are kept to the letter (reference: KubeRay, 2.13); ours live under `rayfleet.dev/`."""

CLUSTER = "ray.io/cluster"
NODE_TYPE = "ray.io/node-type"
GROUP = "ray.io/group"
IS_RAY_NODE = "ray.io/is-ray-node"
IDENTIFIER = "ray.io/identifier"
HEADLESS_WORKER_SERVICE = "ray.io/headless-worker-svc"
REPLICA_NAME = "ray.io/worker-group-replica-name"
REPLICA_INDEX = "ray.io/worker-group-replica-index"
HOST_INDEX = "ray.io/replica-host-index"
APP_NAME = "app.kubernetes.io/name"
APP_CREATED_BY = "app.kubernetes.io/created-by"

HEAD = "head"
WORKER = "worker"
HEAD_GROUP = "headgroup"
KUBERAY = "kuberay"
KUBERAY_OPERATOR = "kuberay-operator"

FT_ENABLED = "ray.io/ft-enabled"
OVERWRITE_COMMAND = "ray.io/overwrite-container-cmd"
KUBERAY_VERSION = "ray.io/kuberay-version"
RECREATE_HASH = "ray.io/upgrade-strategy-recreate-hash"

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

LIVES = "rayfleet.dev/lives"
"""How often Pods of this owner may have gone: part of the hash in Pod names (design, decision 3). Absent means 0."""

RAY_PODS_SELECTOR = f"{NODE_TYPE} in (head,worker,redis-cleanup)"
"""Which Pods the operator watches, as KubeRay does."""
