"""What is validated: a RayCluster's spec with its templates read once, and each group's place in the document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from rayfleet.api.config import Configuration
from rayfleet.api.meta import ObjectMeta
from rayfleet.api.raycluster import HeadGroupSpec, RayClusterSpec, WorkerGroupSpec
from rayfleet.api.scaler import is_hosted
from rayfleet.api.template import PodTemplate, Reading, read_template

AUTOSCALER_V2_SWITCH = "RAY_enable_autoscaler_v2"


S = TypeVar("S", HeadGroupSpec, WorkerGroupSpec)


@dataclass(frozen=True, slots=True)
class Group(Generic[S]):
    """The head's group or a worker group; `path` is that of its spec."""

    path: str
    spec: S
    reading: Reading

    @property
    def template(self) -> PodTemplate:
        return self.reading.template

    @property
    def ray_path(self) -> str:
        """The path of the Ray container."""
        return f"{self.path}.template.spec.containers[0]"


AnyGroup = Group[HeadGroupSpec] | Group[WorkerGroupSpec]


@dataclass(frozen=True, slots=True)
class Subject:
    """`path` is where the cluster's spec stands: `spec`, or `spec.rayClusterSpec` inside a RayJob."""

    path: str
    metadata: ObjectMeta
    spec: RayClusterSpec
    config: Configuration
    head: Group[HeadGroupSpec]
    workers: tuple[Group[WorkerGroupSpec], ...]

    @property
    def groups(self) -> tuple[AnyGroup, ...]:
        return (self.head, *self.workers)

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata.annotations or {}

    @property
    def autoscaling(self) -> bool:
        return bool(self.spec.enable_in_tree_autoscaling)

    @property
    def hosted(self) -> bool:
        """Does the operator size the groups itself?"""
        return is_hosted(self.metadata, self.spec, self.config)

    @property
    def autoscaler_v2(self) -> bool:
        """Is v2 asked for, by the option or by the head's environment? (KubeRay asks the same two.)"""
        options = self.spec.autoscaler_options
        switch = self.head.template.ray.variable(AUTOSCALER_V2_SWITCH)
        return bool(options and options.version == "v2") or bool(switch and switch.value in ("1", "true"))


def subject_of(metadata: ObjectMeta, spec: RayClusterSpec, config: Configuration, path: str = "spec") -> Subject:
    head = group_of(f"{path}.headGroupSpec", spec.head_group_spec)
    workers = tuple(group_of(f"{path}.workerGroupSpecs[{index}]", group) for index, group in enumerate(spec.worker_group_specs))
    return Subject(path, metadata, spec, config, head, workers)


def group_of(path: str, spec: S) -> Group[S]:
    return Group(path, spec, read_template(spec.template, f"{path}.template"))
