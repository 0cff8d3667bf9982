"""What KubeRay's boards and alerts read of RayServices, under its names (reference: KubeRay, 5.3). Made from the objects at each scrape."""

from __future__ import annotations

from collections.abc import Iterable

from rayfleet.api.decode import Undecodable
from rayfleet.api.rayservice import RayService
from rayfleet.planning.conditions import find
from rayfleet.planning.gauge import Gauge

Sample = tuple[tuple[str, ...], float]
OBJECT = ("name", "namespace", "uid")
INFO = ("kuberay_service_info", "Metadata of RayServices", OBJECT)
CONDITIONS = {
    "Ready": ("kuberay_service_condition_ready", "Is the RayService ready? (condition: true or false)", (*OBJECT, "condition")),
    "UpgradeInProgress": (
        "kuberay_service_condition_upgrade_in_progress",
        "Is a cluster to take the active one's place? (condition: true or false)",
        (*OBJECT, "condition"),
    ),
}


def measure(services: Iterable[RayService | Undecodable]) -> tuple[Gauge, ...]:
    infos: list[Sample] = []
    judged: dict[str, list[Sample]] = {name: [] for name in CONDITIONS}
    for service in services:
        meta = service.metadata
        labels = (meta.name, meta.namespace, meta.uid)
        infos.append((labels, 1.0))
        for name, samples in judged.items():
            if condition := find(service.status.conditions, name):
                samples.append(((*labels, str(condition.status == "True").lower()), 1.0))
    return Gauge(*INFO, infos), *(Gauge(*CONDITIONS[name], samples) for name, samples in judged.items())
