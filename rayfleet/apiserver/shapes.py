"""The fields of the other core kinds that clients write by hand. Notation: see shape.Shape."""

from __future__ import annotations

from rayfleet.apiserver.shape import Shape

_TOP = {"apiVersion": "s", "kind": "s", "metadata": "*", "status": "o"}

SERVICE = Shape(
    {
        "Service": {**_TOP, "spec": "ServiceSpec"},
        "ServiceSpec": {
            "ports": "[ServicePort", "selector": "{s", "clusterIP": "s", "clusterIPs": "[S", "type": "s", "externalIPs": "[S",
            "sessionAffinity": "s", "loadBalancerIP": "s", "loadBalancerSourceRanges": "[S", "externalName": "s",
            "externalTrafficPolicy": "s", "healthCheckNodePort": "i", "publishNotReadyAddresses": "b", "sessionAffinityConfig": "o",
            "ipFamilies": "[S", "ipFamilyPolicy": "S", "allocateLoadBalancerNodePorts": "B", "loadBalancerClass": "S",
            "internalTrafficPolicy": "S", "trafficDistribution": "S",
        },
        "ServicePort": {"name": "s", "protocol": "s", "appProtocol": "S", "port": "I", "targetPort": "x", "nodePort": "i"},
    },
    "Service",
)  # fmt: skip

CONFIGMAP = Shape({"ConfigMap": {**_TOP, "data": "{S", "binaryData": "{S", "immutable": "B"}}, "ConfigMap")
SECRET = Shape({"Secret": {**_TOP, "data": "{S", "stringData": "{S", "immutable": "B", "type": "s"}}, "Secret")
_SELECTOR = {"LabelSelector": {"matchLabels": "{S", "matchExpressions": "[o"}}
NODE = Shape(
    {
        "Node": {**_TOP, "spec": "NodeSpec", "status": "NodeStatus"},
        "NodeSpec": {
            "podCIDR": "s", "podCIDRs": "[S", "providerID": "s", "unschedulable": "b", "taints": "[Taint", "configSource": "o",
            "externalID": "s",
        },
        "Taint": {"key": "S", "value": "s", "effect": "S", "timeAdded": "S"},
        "NodeStatus": {
            "capacity": "{q", "allocatable": "{q", "phase": "s", "conditions": "[o", "addresses": "[o", "daemonEndpoints": "o",
            "nodeInfo": "o", "images": "[o", "volumesInUse": "[S", "volumesAttached": "[o", "config": "o", "runtimeHandlers": "[o",
            "features": "o", "declaredFeatures": "[S",
        },
    },
    "Node",
)  # fmt: skip
NAMESPACE = Shape({"Namespace": {**_TOP, "spec": "o"}}, "Namespace")
CLAIM = Shape(
    {
        "PersistentVolumeClaim": {**_TOP, "spec": "PersistentVolumeClaimSpec"},
        "PersistentVolumeClaimSpec": {
            "accessModes": "[S", "selector": "LabelSelector", "resources": "VolumeResourceRequirements", "volumeName": "s",
            "storageClassName": "S", "volumeMode": "S", "dataSource": "o", "dataSourceRef": "o", "volumeAttributesClassName": "S",
        },
        "VolumeResourceRequirements": {"limits": "{q", "requests": "{q"},
        **_SELECTOR,
    },
    "PersistentVolumeClaim",
)  # fmt: skip
LEASE = Shape(
    {
        "Lease": {**_TOP, "spec": "LeaseSpec"},
        "LeaseSpec": {
            "holderIdentity": "S", "leaseDurationSeconds": "I", "acquireTime": "S", "renewTime": "S", "leaseTransitions": "I",
            "strategy": "S", "preferredHolder": "S",
        },
    },
    "Lease",
)  # fmt: skip
QUOTA = Shape(
    {"ResourceQuota": {**_TOP, "spec": "Spec"}, "Spec": {"hard": "{q", "scopes": "[S", "scopeSelector": "o"}},
    "ResourceQuota",
)
EVENT = Shape(
    {
        "Event": {
            **_TOP, "involvedObject": "ObjectReference", "reason": "s", "message": "s", "source": "EventSource",
            "firstTimestamp": "S", "lastTimestamp": "S", "count": "i", "type": "s", "eventTime": "S", "series": "EventSeries",
            "action": "s", "related": "ObjectReference", "reportingComponent": "s", "reportingInstance": "s",
        },
        "ObjectReference": {
            "kind": "s", "namespace": "s", "name": "s", "uid": "s", "apiVersion": "s", "resourceVersion": "s", "fieldPath": "s",
        },
        "EventSource": {"component": "s", "host": "s"},
        "EventSeries": {"count": "i", "lastObservedTime": "S"},
    },
    "Event",
)  # fmt: skip
DEFINITION = Shape(
    {
        "CustomResourceDefinition": {**_TOP, "spec": "Spec"},
        "Spec": {
            "group": "s", "names": "Names", "scope": "s", "versions": "[Version", "conversion": "o", "preserveUnknownFields": "b",
        },
        "Names": {"plural": "s", "singular": "s", "shortNames": "[S", "kind": "s", "listKind": "s", "categories": "[S"},
        "Version": {
            "name": "s", "served": "B", "storage": "B", "deprecated": "b", "deprecationWarning": "S", "schema": "Validation",
            "subresources": "Subresources", "additionalPrinterColumns": "[Column", "selectableFields": "[SelectableField",
        },
        "Validation": {"openAPIV3Schema": "o"},
        "Subresources": {"status": "o", "scale": "Scale"},
        "Scale": {"specReplicasPath": "s", "statusReplicasPath": "s", "labelSelectorPath": "S"},
        "SelectableField": {"jsonPath": "s"},
        "Column": {"name": "s", "type": "s", "format": "s", "description": "s", "priority": "i", "jsonPath": "s"},
    },
    "CustomResourceDefinition",
)  # fmt: skip
