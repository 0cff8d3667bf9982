"""The status of a RayService, RayJob or RayCronJob without times: what two operators can agree on."""

from __future__ import annotations

from typing import Any

from tests.parity.canonical import Json

TIMES = ("startTime", "endTime", "jobStatusCheckFailureStartTime", "lastScheduleTime")
PLAIN = (
    "jobDeploymentStatus",
    "jobStatus",
    "jobId",
    "rayClusterName",
    "dashboardURL",
    "reason",
    "message",
    "succeeded",
    "failed",
    "serviceStatus",
    "numServeEndpoints",
)
SHARES = ("targetCapacity", "trafficRoutedPercent")
OF_CLUSTER = ("state", "availableWorkerReplicas", "desiredWorkerReplicas")


def told(status: Json, generation: int) -> Json:
    """What says nothing is left out. Conditions are `type: status reason: message`."""
    handled = status.get("observedGeneration", 0)
    found = {name: status.get(name) for name in PLAIN}
    found |= {name: "given" for name in TIMES if status.get(name)}
    found |= {
        "rayJobInfo": sorted(status.get("rayJobInfo") or {}),
        "rayClusterStatus": of_cluster(status),
        "active": of_service(status.get("activeServiceStatus") or {}),
        "pending": of_service(status.get("pendingServiceStatus") or {}),
        "conditions": {each["type"]: of_condition(each) for each in status.get("conditions") or ()},
        "observedGeneration": "current" if handled == generation else "stale" if handled else "absent",
    }
    return {name: value for name, value in found.items() if value not in (None, "", 0, [], {})}


def of_condition(found: Json) -> str:
    return f"{found['status']} {found['reason']}: {found.get('message', '')}"


def of_service(part: Json) -> Json:
    applications = {name: of_application(each) for name, each in (part.get("applicationStatuses") or {}).items()}
    found = {"cluster": part.get("rayClusterName"), "applications": applications, "rayClusterStatus": of_cluster(part)}
    found |= {name: part.get(name) for name in SHARES}
    return {name: value for name, value in found.items() if value}


def of_application(found: Json) -> Json:
    deployments = {name: each.get("status") for name, each in (found.get("serveDeploymentStatuses") or {}).items()}
    return {"status": found.get("status"), "message": found.get("message", ""), "deployments": deployments}


def of_cluster(part: Json) -> Json:
    known: dict[str, Any] = part.get("rayClusterStatus") or {}
    return {name: known[name] for name in OF_CLUSTER if known.get(name)}
