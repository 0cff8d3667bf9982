"""The fields of the other core kinds that clients write by hand. Notation: see shape.Shape."""

from __future__ import annotations

from rayfleet.apiserver.shape import Shape

_TOP = {"apiVersion": "s", "kind": "s", "metadata": "*", "status": "*"}

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
NODE = Shape({"Node": {**_TOP, "spec": "o"}}, "Node")
NAMESPACE = Shape({"Namespace": {**_TOP, "spec": "o"}}, "Namespace")
CLAIM = Shape({"PersistentVolumeClaim": {**_TOP, "spec": "o"}}, "PersistentVolumeClaim")
LEASE = Shape({"Lease": {**_TOP, "spec": "o"}}, "Lease")
QUOTA = Shape(
    {"ResourceQuota": {**_TOP, "spec": "Spec"}, "Spec": {"hard": "{q", "scopes": "[S", "scopeSelector": "o"}},
    "ResourceQuota",
)
EVENT = Shape(
    {
        "Event": {
            **_TOP, "involvedObject": "o", "reason": "s", "message": "s", "source": "o", "firstTimestamp": "S", "lastTimestamp": "S",
            "count": "i", "type": "s", "eventTime": "S", "series": "o", "action": "s", "related": "o", "reportingComponent": "s",
            "reportingInstance": "s",
        }
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
            "name": "s", "served": "B", "storage": "B", "deprecated": "b", "deprecationWarning": "S", "schema": "o", "subresources": "o",
            "additionalPrinterColumns": "[Column", "selectableFields": "[o",
        },
        "Column": {"name": "s", "type": "s", "format": "s", "description": "s", "priority": "i", "jsonPath": "s"},
    },
    "CustomResourceDefinition",
)  # fmt: skip
