"""The fields of the kinds by which a cluster is set up. Notation: see shape.Shape."""

from __future__ import annotations

from rayfleet.apiserver.shape import Shape

_TOP = {"apiVersion": "s", "kind": "s", "metadata": "*"}
_SOURCES = (
    "local", "nfs", "csi", "iscsi", "fc", "cephfs", "rbd", "glusterfs", "cinder", "flexVolume", "flocker", "azureFile",
    "azureDisk", "vsphereVolume", "quobyte", "portworxVolume", "scaleIO", "storageos", "photonPersistentDisk", "awsElasticBlockStore",
    "gcePersistentDisk",
)  # fmt: skip
_MATCH = {
    "Match": {
        "namespaceSelector": "o", "objectSelector": "o", "resourceRules": "[Rule", "excludeResourceRules": "[Rule", "matchPolicy": "S",
    },
    "Rule": {"resourceNames": "[S", "operations": "[S", "apiGroups": "[S", "apiVersions": "[S", "resources": "[S", "scope": "S"},
}  # fmt: skip
_KINDS: dict[str, dict[str, dict[str, str]]] = {
    "LimitRange": {
        "LimitRange": {**_TOP, "spec": "Spec"},
        "Spec": {"limits": "[Item"},
        "Item": {"type": "S", "max": "{q", "min": "{q", "default": "{q", "defaultRequest": "{q", "maxLimitRequestRatio": "{q"},
    },
    "PersistentVolume": {
        "PersistentVolume": {**_TOP, "spec": "PersistentVolumeSpec", "status": "o"},
        "PersistentVolumeSpec": {
            "capacity": "{q", "accessModes": "[S", "persistentVolumeReclaimPolicy": "s", "storageClassName": "s", "mountOptions": "[S",
            "volumeMode": "S", "volumeAttributesClassName": "S", "nodeAffinity": "o", "claimRef": "o", **dict.fromkeys(_SOURCES, "o"),
            "hostPath": "HostPathVolumeSource",
        },
        "HostPathVolumeSource": {"path": "S", "type": "S"},
    },
    "StorageClass": {
        "StorageClass": {
            **_TOP, "provisioner": "S", "parameters": "{S", "reclaimPolicy": "S", "mountOptions": "[S", "allowVolumeExpansion": "B",
            "volumeBindingMode": "S", "allowedTopologies": "[o",
        }
    },
    "IngressClass": {"IngressClass": {**_TOP, "spec": "o"}},
    "RuntimeClass": {"RuntimeClass": {**_TOP, "handler": "S", "overhead": "o", "scheduling": "o"}},
    "PriorityClass": {
        "PriorityClass": {**_TOP, "value": "I", "globalDefault": "b", "description": "s", "preemptionPolicy": "S"},
    },
    "PodDisruptionBudget": {
        "PodDisruptionBudget": {**_TOP, "spec": "Spec", "status": "o"},
        "LabelSelector": {"matchLabels": "{S", "matchExpressions": "[o"},
        "Spec": {"minAvailable": "x", "selector": "LabelSelector", "maxUnavailable": "x", "unhealthyPodEvictionPolicy": "S"},
    },
    "ValidatingAdmissionPolicy": {
        "ValidatingAdmissionPolicy": {**_TOP, "spec": "Spec", "status": "o"},
        "Spec": {
            "paramKind": "Param", "matchConstraints": "Match", "validations": "[Validation", "failurePolicy": "S",
            "auditAnnotations": "[Audit", "matchConditions": "[Named", "variables": "[Named",
        },
        "Param": {"apiVersion": "s", "kind": "s"},
        "Validation": {"expression": "S", "message": "s", "reason": "S", "messageExpression": "s"},
        "Audit": {"key": "S", "valueExpression": "S"},
        "Named": {"name": "S", "expression": "S"},
        **_MATCH,
    },
    "ValidatingAdmissionPolicyBinding": {
        "ValidatingAdmissionPolicyBinding": {**_TOP, "spec": "Spec"},
        "Spec": {"policyName": "s", "paramRef": "Reference", "matchResources": "Match", "validationActions": "[S"},
        "Reference": {"name": "s", "namespace": "s", "selector": "o", "parameterNotFoundAction": "S"},
        **_MATCH,
    },
}  # fmt: skip
SHAPES = {kind: Shape(types, kind) for kind, types in _KINDS.items()}
