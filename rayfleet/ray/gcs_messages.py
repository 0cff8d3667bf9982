"""The part of Ray's autoscaler protocol that is spoken here, as messages built when the first one is needed.

Numbers and types are those of Ray's `autoscaler.proto` (2.9 to 2.60), enums are plain numbers, and fields that nobody here reads are left
out. The messages have a package and a descriptor pool of their own, so that Ray's own module may live in the same process, and no
generated file ties them to one version of protobuf.
"""

from __future__ import annotations

from functools import cache
from typing import Any

PACKAGE = "rayfleet.gcs"
SCALARS = {"string": 9, "bytes": 12, "int32": 5, "int64": 3, "double": 1, "bool": 8, "enum": 5}
MESSAGE, OPTIONAL, REPEATED = 11, 1, 3

RUNNING, DEAD, IDLE, DRAINING = 1, 2, 3, 4
"""NodeState.status."""
IDLE_TERMINATION, PREEMPTION = 1, 2
"""DrainNodeRequest.reason."""

# A field reads `number name type`; `type*` is repeated, `{value}` a map from strings.
FIELDS = {
    "Affinity": "1 label_name string, 2 label_value string",
    "PlacementConstraint": "1 anti_affinity Affinity, 2 affinity Affinity",
    "LabelConstraint": "1 label_key string, 2 operator enum, 3 label_values string*",
    "LabelSelector": "1 label_constraints LabelConstraint*",
    "ResourceRequest": "1 resources_bundle {double}, 2 placement_constraints PlacementConstraint*, 3 label_selectors LabelSelector*",
    "ResourceRequestByCount": "1 request ResourceRequest, 2 count int64",
    "LocalityConstraint": "1 label_name string, 2 placement_strategy enum",
    "LocalityRequirement": "1 locality_constraint LocalityConstraint, 2 label_selector LabelSelector",
    "BundleSelector": "1 resource_requests ResourceRequest*, 2 locality_requirement LocalityRequirement",
    "GangResourceRequest": "1 requests ResourceRequest*, 2 details string, 3 bundle_selectors BundleSelector*",
    "ClusterResourceConstraint": "1 resource_requests ResourceRequestByCount*",
    "NodeState": "1 node_id bytes, 2 instance_id string, 3 ray_node_type_name string, 4 available_resources {double}, "
    "5 total_resources {double}, 6 dynamic_labels {string}, 7 node_state_version int64, 8 status enum, 9 idle_duration_ms int64, "
    "10 node_ip_address string, 11 instance_type_name string, 12 node_activity string*, 13 labels {string}",
    "GetClusterResourceStateRequest": "1 last_seen_cluster_resource_state_version int64",
    "ClusterResourceState": "1 cluster_resource_state_version int64, 2 last_seen_autoscaler_state_version int64, 3 node_states NodeState*, "
    "4 pending_resource_requests ResourceRequestByCount*, 5 pending_gang_resource_requests GangResourceRequest*, "
    "6 cluster_resource_constraints ClusterResourceConstraint*, 7 cluster_session_name string",
    "GetClusterResourceStateReply": "1 cluster_resource_state ClusterResourceState",
    "PendingInstanceRequest": "1 instance_type_name string, 2 ray_node_type_name string, 3 count int32, 4 request_ts int64",
    "FailedInstanceRequest": "1 instance_type_name string, 2 ray_node_type_name string, 3 count int32, 4 reason string, 5 start_ts int64, "
    "6 failed_ts int64",
    "PendingInstance": "1 instance_type_name string, 2 ray_node_type_name string, 3 instance_id string, 4 ip_address string, "
    "5 details string",
    "AutoscalingState": "1 last_seen_cluster_resource_state_version int64, 2 autoscaler_state_version int64, "
    "3 pending_instance_requests PendingInstanceRequest*, 4 infeasible_resource_requests ResourceRequest*, "
    "5 infeasible_gang_resource_requests GangResourceRequest*, 6 infeasible_cluster_resource_constraints ClusterResourceConstraint*, "
    "7 pending_instances PendingInstance*, 8 failed_instance_requests FailedInstanceRequest*",
    "ReportAutoscalingStateRequest": "1 autoscaling_state AutoscalingState",
    "ReportAutoscalingStateReply": "",
    "RequestClusterResourceConstraintRequest": "1 cluster_resource_constraint ClusterResourceConstraint",
    "RequestClusterResourceConstraintReply": "",
    "GetClusterStatusRequest": "",
    "GetClusterStatusReply": "1 autoscaling_state AutoscalingState, 2 cluster_resource_state ClusterResourceState",
    "DrainNodeRequest": "1 node_id bytes, 2 reason enum, 3 reason_message string, 4 deadline_timestamp_ms int64",
    "DrainNodeReply": "1 is_accepted bool, 2 rejection_reason_message string",
}


def described() -> bytes:
    """All of the above as protobuf describes a file."""
    from google.protobuf import descriptor_pb2  # type: ignore[import-untyped]

    file = descriptor_pb2.FileDescriptorProto(name="rayfleet/gcs.proto", package=PACKAGE, syntax="proto3")
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for line in filter(None, fields.split(", ")):
            number, field, form = line.split(" ")
            add_field(message, int(number), field, form)
    return bytes(file.SerializeToString())


def add_field(message: Any, number: int, name: str, form: str) -> None:
    label, type_name = OPTIONAL, ""
    if form.startswith("{"):
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        add_field(entry, 1, "key", "string")
        add_field(entry, 2, "value", form.strip("{}"))
        label, type_name = REPEATED, f".{PACKAGE}.{message.name}.{entry.name}"
    elif form.rstrip("*") not in SCALARS:
        type_name = f".{PACKAGE}.{form.rstrip('*')}"
    if form.endswith("*"):
        label = REPEATED
    field = message.field.add(name=name, number=number, label=label, type=MESSAGE if type_name else SCALARS[form.rstrip("*")])
    if type_name:
        field.type_name = type_name


@cache
def built() -> dict[str, Any]:
    """Message classes by name."""
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(described())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in FIELDS}


def message(name: str, **fields: Any) -> Any:
    """A new message of that name. Raises KeyError for one that is not spoken here, ValueError for a field that it does not have."""
    return built()[name](**fields)


def parsed(name: str, content: bytes) -> Any:
    """Raises ValueError when the bytes are no such message."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        return built()[name].FromString(content)
    except DecodeError as error:
        raise ValueError(f"this is no {name}: {error}") from error
