"""What is wrong with a RayService, but for its Serve config, which is YAML."""

from __future__ import annotations

from rayfleet.api.labels import INITIALIZING_TIMEOUT
from rayfleet.api.policies.form import Check, Variable
from rayfleet.api.validation.ray_service import INCREMENTAL, STRATEGIES

NUMBER = r"([0-9]+([.][0-9]*)?|[.][0-9]+)"
VARIABLES = (
    Variable("spec", "has(object.spec.rayClusterConfig) ? object.spec.rayClusterConfig : {}"),
    Variable("upgrade", "has(object.spec.upgradeStrategy) ? object.spec.upgradeStrategy : {}"),
    Variable("steps", f"has(variables.upgrade.type) && variables.upgrade.type == '{INCREMENTAL}'"),
    Variable("stepping", "has(variables.upgrade.clusterUpgradeOptions) ? variables.upgrade.clusterUpgradeOptions : {}"),
    Variable("surge", "has(variables.stepping.maxSurgePercent) ? variables.stepping.maxSurgePercent : 100"),
    Variable("written", "has(object.spec.serveService) ? object.spec.serveService : {}"),
)
OWN = (
    Check(
        "!has(variables.spec.authOptions) || !has(variables.spec.authOptions.enableK8sTokenAuth) || "
        "!variables.spec.authOptions.enableK8sTokenAuth",
        "spec.rayClusterConfig.authOptions.enableK8sTokenAuth: the operator has no token of its own for Ray's ports",
    ),
    Check(
        "!has(variables.spec.upgradeStrategy) || !has(variables.spec.upgradeStrategy.type) || variables.spec.upgradeStrategy.type == ''",
        "spec.rayClusterConfig.upgradeStrategy.type: a RayService replaces its cluster itself; leave it out",
    ),
    Check(
        "!has(variables.head.headService) || !has(variables.head.headService.metadata) || "
        "!has(variables.head.headService.metadata.name) || variables.head.headService.metadata.name == ''",
        "spec.rayClusterConfig.headGroupSpec.headService.metadata.name: two clusters of one service would share it; leave it out",
    ),
    Check(
        "!has(variables.written.spec) || (!has(variables.written.spec.externalIPs) || size(variables.written.spec.externalIPs) == 0) && "
        "(!has(variables.written.spec.externalName) || variables.written.spec.externalName == '') && "
        "(!has(variables.written.spec.type) || variables.written.spec.type != 'ExternalName')",
        "spec.serveService.spec: externalIPs and externalName take what is sent to others; leave them out",
    ),
    Check(
        "!has(object.spec.rayClusterDeletionDelaySeconds) || object.spec.rayClusterDeletionDelaySeconds >= 0",
        "spec.rayClusterDeletionDelaySeconds: it must be 0 or more",
    ),
    Check(
        f"!('{INITIALIZING_TIMEOUT}' in variables.annotations) || variables.annotations['{INITIALIZING_TIMEOUT}'] == '' || "
        f"variables.annotations['{INITIALIZING_TIMEOUT}'].matches('^({NUMBER}(h|m|s|ms|us|µs|ns))+$|^[0-9]+$') && "
        f"variables.annotations['{INITIALIZING_TIMEOUT}'].matches('[1-9]')",
        f"metadata.annotations[{INITIALIZING_TIMEOUT}]: it must be a duration above 0, such as 10m, or whole seconds",
    ),
)
UPGRADE = (
    Check(
        f"!has(variables.upgrade.type) || variables.upgrade.type in {['', *STRATEGIES]}",
        f"spec.upgradeStrategy.type: it must be one of {', '.join(STRATEGIES)}",
    ),
    Check(
        "!variables.steps || variables.autoscales",
        f"spec.rayClusterConfig.enableInTreeAutoscaling: {INCREMENTAL} sizes clusters by Ray's autoscaler; it must be true",
    ),
    Check(
        "!variables.steps || has(variables.upgrade.clusterUpgradeOptions)",
        f"spec.upgradeStrategy.clusterUpgradeOptions: it is missing, and {INCREMENTAL} needs it",
    ),
    Check(
        "!variables.steps || variables.surge > 0 && variables.surge <= 100",
        "spec.upgradeStrategy.clusterUpgradeOptions.maxSurgePercent: it must be between 1 and 100",
    ),
    Check(
        "!variables.steps || !has(variables.upgrade.clusterUpgradeOptions) || has(variables.stepping.stepSizePercent) && "
        "variables.stepping.stepSizePercent > 0 && variables.stepping.stepSizePercent <= variables.surge && "
        "variables.stepping.stepSizePercent <= 100",
        "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent: it must be between 1 and maxSurgePercent",
    ),
    Check(
        "!variables.steps || !has(variables.upgrade.clusterUpgradeOptions) || has(variables.stepping.intervalSeconds) && "
        "variables.stepping.intervalSeconds > 0",
        "spec.upgradeStrategy.clusterUpgradeOptions.intervalSeconds: it must be above 0",
    ),
    Check(
        "!variables.steps || !has(variables.upgrade.clusterUpgradeOptions) || has(variables.stepping.gatewayClassName) && "
        "variables.stepping.gatewayClassName != ''",
        "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName: name a GatewayClass",
    ),
)
CHECKS = (*OWN, *UPGRADE)
