"""Labels, annotations and finalizers. KubeRay's are kept to the letter (reference: KubeRay, 2.13); ours live under `rayfleet.dev/`."""

CLUSTER = "ray.io/cluster"
NODE_TYPE = "ray.io/node-type"
GROUP = "ray.io/group"
IS_RAY_NODE = "ray.io/is-ray-node"
IDENTIFIER = "ray.io/identifier"
HEADLESS_WORKER_SERVICE = "ray.io/headless-worker-svc"
SERVE = "ray.io/serve"
ORIGINATED_FROM_NAME = "ray.io/originated-from-cr-name"
ORIGINATED_FROM_KIND = "ray.io/originated-from-crd"
REPLICA_NAME = "ray.io/worker-group-replica-name"
REPLICA_INDEX = "ray.io/worker-group-replica-index"
HOST_INDEX = "ray.io/replica-host-index"
APP_NAME = "app.kubernetes.io/name"
APP_CREATED_BY = "app.kubernetes.io/created-by"

HEAD = "head"
WORKER = "worker"
HEAD_GROUP = "headgroup"
REDIS_CLEANUP = "redis-cleanup"
SUBMITTER = "submitter"
KUBERAY = "kuberay"
KUBERAY_OPERATOR = "kuberay-operator"

FT_ENABLED = "ray.io/ft-enabled"
STORAGE_NAMESPACE = "ray.io/external-storage-namespace"
DELETION_TIMEOUT = "ray.io/gcs-ft-deletion-timeout"
OVERWRITE_COMMAND = "ray.io/overwrite-container-cmd"
ENABLE_SERVE_SERVICE = "ray.io/enable-serve-service"
INGRESS_CLASS = "kubernetes.io/ingress.class"
DISABLE_HEAD_RESTART = "ray.io/disable-provisioned-head-restart"
INITIALIZING_TIMEOUT = "ray.io/initializing-timeout"
CLUSTER_HASH = "ray.io/hash-without-replicas-and-workers-to-delete"
WORKER_GROUPS = "ray.io/num-worker-groups"
KUBERAY_VERSION = "ray.io/kuberay-version"
RECREATE_HASH = "ray.io/upgrade-strategy-recreate-hash"

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

SERVICE_FINALIZER = "ray.io/rayservice-finalizer"
REDIS_FINALIZER = "ray.io/gcs-ft-redis-cleanup-finalizer"
JOB_FINALIZER = "ray.io/rayjob-finalizer"

SUBMISSION_MODE = "ray.io/job-submission-mode"

CRON_JOB = "ray.io/cronjob-name"
SCHEDULED_AT = "ray.io/cronjob-scheduled-timestamp"

TRIES = "rayfleet.dev/tries"
"""On a RayJob: the tries that are over, as JSON (`rayjob.tries`). Absent means none."""

SUBMITTED_TO = "rayfleet.dev/submitted-to"
"""On a RayJob: `id session`, written before that id may be submitted: in no other life of Ray is it submitted again."""

RETRY_POLICY = "rayfleet.dev/retry-policy"
"""On a RayJob: `SameCluster` for retries on the cluster that lives, `NewCluster` (the default) for a fresh one each."""

LIVES = "rayfleet.dev/lives"
"""How often Pods of this owner may have gone: part of the hash in Pod names (design, decision 3). Absent means 0."""

SERVE_CONFIG = "rayfleet.dev/serve-config"
"""On a RayService's cluster: the hash of the Serve config that it was made for, or was last given."""

PROXY_LOCATION = "rayfleet.dev/proxy-location"
"""On a RayService's cluster: where Serve was told to run proxies when the cluster was made, unless on every node."""

UNUSED_SINCE = "rayfleet.dev/unused-since"
"""On a RayService's cluster that it needs no longer: since when."""

MIGRATED_AT = "rayfleet.dev/traffic-migrated-at"
"""On an HTTPRoute: when its weights were last changed."""

ROUTED_AT = "rayfleet.dev/routed-at"
"""On an HTTPRoute: when its backends were last changed, also by one that had no weight."""

TIMED_OUT = "rayfleet.dev/initializing-timed-out"
"""On a RayService: the generation whose first cluster did not serve in time. No other is made for it."""

PAUSED = "rayfleet.dev/paused"
"""On a RayService: `true` while no cluster is to be made and no traffic moved."""

AUTOSCALING = "rayfleet.dev/autoscaling"
"""On a RayCluster, or what makes one: `sidecar` or `hosted`, whatever the operator's configuration says (`api.scaler`). On a head Pod:
`hosted` where it was made without Ray's autoscaler beside it."""

OLD_SPEC = "rayfleet.dev/converted-spec"
"""On a RayCluster that was made for one of `cluster.ray.io`: the hash of the spec that it was given."""

CONCURRENCY = "rayfleet.dev/concurrency-policy"
STARTING_DEADLINE = "rayfleet.dev/starting-deadline-seconds"
SUCCESSFUL_HISTORY = "rayfleet.dev/successful-jobs-history-limit"
FAILED_HISTORY = "rayfleet.dev/failed-jobs-history-limit"
"""On a RayCronJob: what Kubernetes' CronJob has as fields."""

RAY_PODS_SELECTOR = f"{NODE_TYPE} in (head,worker,redis-cleanup,submitter)"
"""Which Pods the operator watches: those that KubeRay does, and those that submit jobs."""

OLD_PODS_SELECTOR = "ray-node-type"
"""Which Pods the Python operator made, and those that are like them."""

CLEANUP_JOBS_SELECTOR = f"{NODE_TYPE}={REDIS_CLEANUP}"

SUBMITTERS_SELECTOR = f"{ORIGINATED_FROM_KIND}=RayJob"
"""Which Jobs are submitters of RayJobs, as KubeRay labels them."""
