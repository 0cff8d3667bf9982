"""The fields of the kinds that say who may do what, who serves what, and who reaches whom. Notation: see shape.Shape.

Source: k8s.io/api rbac/v1, networking/v1, discovery/v1, core/v1. What is empty is kept where Go keeps it, so nothing is left out here.
"""

from __future__ import annotations

from rayfleet.apiserver.shape import Shape

_TOP = {"apiVersion": "S", "kind": "S", "metadata": "*"}
_RULE = {"PolicyRule": {"verbs": "[S", "apiGroups": "[S", "resources": "[S", "resourceNames": "[S", "nonResourceURLs": "[S"}}
_BINDING = {
    "Subject": {"kind": "S", "apiGroup": "S", "name": "S", "namespace": "S"},
    "RoleRef": {"apiGroup": "S", "kind": "S", "name": "S"},
}
_REFERENCE = {
    "kind": "S", "namespace": "S", "name": "S", "uid": "S", "apiVersion": "S", "resourceVersion": "S", "fieldPath": "S",
}  # fmt: skip
_SELECTOR = {"LabelSelector": {"matchLabels": "{S", "matchExpressions": "[o"}}
_KINDS: dict[str, dict[str, dict[str, str]]] = {
    "Role": {"Role": {**_TOP, "rules": "[PolicyRule"}, **_RULE},
    "ClusterRole": {"ClusterRole": {**_TOP, "rules": "[PolicyRule", "aggregationRule": "o"}, **_RULE},
    "RoleBinding": {"RoleBinding": {**_TOP, "subjects": "[Subject", "roleRef": "RoleRef"}, **_BINDING},
    "ClusterRoleBinding": {"ClusterRoleBinding": {**_TOP, "subjects": "[Subject", "roleRef": "RoleRef"}, **_BINDING},
    "ServiceAccount": {
        "ServiceAccount": {
            **_TOP, "secrets": "[ObjectReference", "imagePullSecrets": "[LocalObjectReference", "automountServiceAccountToken": "B",
        },
        "ObjectReference": _REFERENCE,
        "LocalObjectReference": {"name": "S"},
    },
    "Endpoints": {
        "Endpoints": {**_TOP, "subsets": "[EndpointSubset"},
        "EndpointSubset": {"addresses": "[EndpointAddress", "notReadyAddresses": "[EndpointAddress", "ports": "[EndpointPort"},
        "EndpointAddress": {"ip": "S", "hostname": "S", "nodeName": "S", "targetRef": "o"},
        "EndpointPort": {"name": "S", "port": "I", "protocol": "S", "appProtocol": "S"},
    },
    "EndpointSlice": {
        "EndpointSlice": {**_TOP, "addressType": "S", "endpoints": "[Endpoint", "ports": "[EndpointPort"},
        "Endpoint": {
            "addresses": "[S", "conditions": "o", "hostname": "S", "targetRef": "o", "deprecatedTopology": "{S", "nodeName": "S",
            "zone": "S", "hints": "o",
        },
        "EndpointPort": {"name": "S", "port": "I", "protocol": "S", "appProtocol": "S"},
    },
    "Ingress": {
        "Ingress": {**_TOP, "spec": "IngressSpec", "status": "o"},
        "IngressSpec": {"ingressClassName": "S", "defaultBackend": "IngressBackend", "tls": "[IngressTLS", "rules": "[IngressRule"},
        "IngressBackend": {"service": "o", "resource": "o"},
        "IngressTLS": {"hosts": "[S", "secretName": "S"},
        "IngressRule": {"host": "S", "http": "o"},
    },
    "NetworkPolicy": {
        "NetworkPolicy": {**_TOP, "spec": "NetworkPolicySpec"},
        "NetworkPolicySpec": {
            "podSelector": "LabelSelector", "ingress": "[NetworkPolicyIngressRule", "egress": "[NetworkPolicyEgressRule",
            "policyTypes": "[S",
        },
        "NetworkPolicyIngressRule": {"ports": "[o", "from": "[o"},
        "NetworkPolicyEgressRule": {"ports": "[o", "to": "[o"},
        **_SELECTOR,
    },
}  # fmt: skip
SHAPES = {kind: Shape(types, kind, sparse=False) for kind, types in _KINDS.items()}
