"""Every field of the field's API by its path, written down by hand: what the declarations are held against.

`[]` stands for an element of a list, `{}` for a value of a map.
"""

from __future__ import annotations


def below(prefix: str, names: str) -> list[str]:
    return [f"{prefix}{name}" for name in names.split()]


RULES = "ingressRules egressRules"
RAYCLUSTER_SPEC = [
    *below(
        "",
        """upgradeStrategy authOptions suspend managedBy enableInTreeAutoscaling autoscalerOptions headServiceAnnotations
        gcsFaultToleranceOptions historyServerOptions networkPolicy tlsOptions headGroupSpec rayVersion workerGroupSpecs""",
    ),
    *below("upgradeStrategy.", "type"),
    *below("authOptions.", "mode enableK8sTokenAuth secretName"),
    *below(
        "autoscalerOptions.",
        "resources image imagePullPolicy securityContext idleTimeoutSeconds upscalingMode version env envFrom volumeMounts command args",
    ),
    *below("gcsFaultToleranceOptions.", "backend redisAddress redisUsername redisPassword externalStorageNamespace storage"),
    *below("gcsFaultToleranceOptions.redisUsername.", "value valueFrom"),
    *below("gcsFaultToleranceOptions.redisPassword.", "value valueFrom"),
    *below("gcsFaultToleranceOptions.storage.", "claimName size storageClassName accessModes subPath deletionPolicy"),
    *below("historyServerOptions.", "collectorOptions"),
    *below("historyServerOptions.collectorOptions.", "image imagePullPolicy resources env"),
    *below("networkPolicy.", "mode head worker workerGroups workerGroups[].groupName"),
    *below("networkPolicy.head.", RULES),
    *below("networkPolicy.worker.", RULES),
    *below("networkPolicy.workerGroups[].", RULES),
    *below("tlsOptions.", "enabled"),
    *below("headGroupSpec.", "template headService enableIngress ingressOptions resources labels rayStartParams serviceType"),
    *below("headGroupSpec.ingressOptions.", "host path pathType tls"),
    *below(
        "workerGroupSpecs[].",
        """groupName replicas minReplicas maxReplicas numOfHosts idleTimeoutSeconds priority suspend scaleStrategy
        scaleStrategy.workersToDelete template rayStartParams resources labels""",
    ),
]
RAYCLUSTER_STATUS = [
    *below(
        "",
        """state reason desiredCPU desiredMemory desiredGPU desiredTPU lastUpdateTime stateTransitionTimes endpoints head conditions
        readyWorkerReplicas availableWorkerReplicas desiredWorkerReplicas minWorkerReplicas maxWorkerReplicas observedGeneration""",
    ),
    *below("head.", "podIP serviceIP podName serviceName"),
]
RAYJOB_SPEC = [
    *below(
        "",
        """entrypoint rayClusterSpec clusterSelector submissionMode jobId metadata runtimeEnvYAML entrypointResources entrypointNumCpus
        entrypointNumGpus submitterPodTemplate submitterConfig backoffLimit activeDeadlineSeconds preRunningDeadlineSeconds
        shutdownAfterJobFinishes ttlSecondsAfterFinished deletionStrategy suspend managedBy""",
    ),
    *below("submitterConfig.", "backoffLimit"),
    *below("deletionStrategy.", "deletionRules onSuccess onSuccess.policy onFailure onFailure.policy"),
    *below("deletionStrategy.deletionRules[].", "policy condition"),
    *below("deletionStrategy.deletionRules[].condition.", "jobStatus jobDeploymentStatus ttlSeconds"),
]
RAYJOB_STATUS = [
    *below(
        "",
        """jobId rayClusterName dashboardURL jobStatus jobDeploymentStatus reason message startTime endTime rayJobInfo succeeded failed
        rayClusterStatus jobStatusCheckFailureStartTime observedGeneration""",
    ),
    *below("rayJobInfo.", "startTime endTime"),
]
RAYSERVICE_SPEC = [
    *below(
        "",
        """rayClusterConfig serveConfigV2 serveService excludeHeadPodFromServeSvc upgradeStrategy rayClusterDeletionDelaySeconds suspend
        managedBy serviceUnhealthySecondThreshold deploymentUnhealthySecondThreshold""",
    ),
    *below("upgradeStrategy.", "type clusterUpgradeOptions"),
    *below("upgradeStrategy.clusterUpgradeOptions.", "maxSurgePercent stepSizePercent intervalSeconds gatewayClassName"),
]
SERVING = """rayClusterName rayClusterStatus applicationStatuses applicationStatuses{}.status applicationStatuses{}.message
    applicationStatuses{}.serveDeploymentStatuses applicationStatuses{}.serveDeploymentStatuses{}.status
    applicationStatuses{}.serveDeploymentStatuses{}.message targetCapacity trafficRoutedPercent lastTrafficMigratedTime"""
RAYSERVICE_STATUS = [
    *below("", "activeServiceStatus pendingServiceStatus numServeEndpoints serviceStatus lastUpdateTime observedGeneration conditions"),
    *below("activeServiceStatus.", SERVING),
    *below("pendingServiceStatus.", SERVING),
]
RAYCRONJOB_SPEC = below("", "schedule timeZone suspend jobTemplate")
RAYCRONJOB_STATUS = below("", "lastScheduleTime")
OURS = below("", "observedGeneration")  # of a RayCronJob's status: KubeRay's has none
