"""The fields of a Pod and of what holds one (k8s.io/api core/v1, batch/v1). Notation: see shape.Shape."""

from __future__ import annotations

from rayfleet.apiserver.shape import Shape

TYPES: dict[str, dict[str, str]] = {
    "Pod": {"apiVersion": "s", "kind": "s", "metadata": "*", "spec": "PodSpec", "status": "o"},
    "Job": {"apiVersion": "s", "kind": "s", "metadata": "*", "spec": "JobSpec", "status": "o"},
    "JobSpec": {
        "parallelism": "I", "completions": "I", "activeDeadlineSeconds": "I", "backoffLimit": "I", "backoffLimitPerIndex": "I",
        "maxFailedIndexes": "I", "selector": "LabelSelector", "manualSelector": "B", "template": "PodTemplateSpec",
        "ttlSecondsAfterFinished": "I", "completionMode": "S", "suspend": "B", "podFailurePolicy": "o", "podReplacementPolicy": "S",
        "managedBy": "S", "successPolicy": "o",
    },
    "PodTemplateSpec": {"metadata": "ObjectMeta", "spec": "PodSpec"},
    "LabelSelector": {"matchLabels": "{S", "matchExpressions": "[o"},
    "ObjectMeta": {
        "name": "s", "generateName": "s", "namespace": "s", "labels": "{S", "annotations": "{S", "finalizers": "[S",
        "ownerReferences": "[o", "creationTimestamp": "S", "deletionTimestamp": "S", "deletionGracePeriodSeconds": "I",
        "resourceVersion": "s", "uid": "s", "generation": "i", "selfLink": "s", "managedFields": "[o",
    },
    "PodSpec": {
        "volumes": "[Volume", "initContainers": "[Container", "containers": "[Container", "ephemeralContainers": "[o", "restartPolicy": "s",
        "terminationGracePeriodSeconds": "I", "activeDeadlineSeconds": "I", "dnsPolicy": "s",
        "nodeSelector": "{s", "serviceAccountName": "s",
        "serviceAccount": "s", "automountServiceAccountToken": "B", "nodeName": "s", "hostNetwork": "b", "hostPID": "b", "hostIPC": "b",
        "shareProcessNamespace": "B", "securityContext": "PodSecurityContext", "imagePullSecrets": "[Named", "hostname": "s",
        "subdomain": "s", "affinity": "Affinity", "schedulerName": "s", "tolerations": "[Toleration", "hostAliases": "[HostAlias",
        "priorityClassName": "s", "priority": "I", "dnsConfig": "PodDNSConfig", "readinessGates": "[ReadinessGate", "runtimeClassName": "S",
        "enableServiceLinks": "B", "preemptionPolicy": "S", "overhead": "{q", "topologySpreadConstraints": "[TopologySpreadConstraint",
        "setHostnameAsFQDN": "B", "os": "Named", "hostUsers": "B", "schedulingGates": "[Named", "resourceClaims": "[PodResourceClaim",
        "resources": "ResourceRequirements", "hostnameOverride": "S", "workloadRef": "o",
    },
    "Container": {
        "name": "s", "image": "s", "command": "[S", "args": "[S", "workingDir": "s", "ports": "[ContainerPort", "envFrom": "[EnvFromSource",
        "env": "[EnvVar", "resources": "ResourceRequirements", "resizePolicy": "[o", "restartPolicy": "S", "restartPolicyRules": "[o",
        "volumeMounts": "[VolumeMount", "volumeDevices": "[VolumeDevice", "livenessProbe": "Probe", "readinessProbe": "Probe",
        "startupProbe": "Probe", "lifecycle": "Lifecycle", "terminationMessagePath": "s", "terminationMessagePolicy": "s",
        "imagePullPolicy": "s", "securityContext": "SecurityContext", "stdin": "b", "stdinOnce": "b", "tty": "b",
    },
    "ContainerPort": {"name": "s", "hostPort": "i", "containerPort": "I", "protocol": "s", "hostIP": "s"},
    "EnvVar": {"name": "s", "value": "s", "valueFrom": "EnvVarSource"},
    "EnvVarSource": {
        "fieldRef": "ObjectFieldSelector", "resourceFieldRef": "ResourceFieldSelector", "configMapKeyRef": "KeySelector",
        "secretKeyRef": "KeySelector", "fileKeyRef": "o",
    },
    "ObjectFieldSelector": {"apiVersion": "s", "fieldPath": "s"},
    "ResourceFieldSelector": {"containerName": "s", "resource": "s", "divisor": "q"},
    "KeySelector": {"name": "s", "key": "s", "optional": "B"},
    "EnvFromSource": {"prefix": "s", "configMapRef": "OptionalName", "secretRef": "OptionalName"},
    "OptionalName": {"name": "s", "optional": "B"},
    "ResourceRequirements": {"limits": "{q", "requests": "{q", "claims": "[ResourceClaim"},
    "ResourceClaim": {"name": "s", "request": "s"},
    "VolumeMount": {
        "name": "s", "readOnly": "b", "recursiveReadOnly": "S", "mountPath": "s", "subPath": "s",
        "mountPropagation": "S", "subPathExpr": "s",
    },
    "VolumeDevice": {"name": "s", "devicePath": "s"},
    "Probe": {
        "exec": "ExecAction", "httpGet": "HTTPGetAction", "tcpSocket": "TCPSocketAction", "grpc": "GRPCAction", "initialDelaySeconds": "i",
        "timeoutSeconds": "i", "periodSeconds": "i", "successThreshold": "i", "failureThreshold": "i", "terminationGracePeriodSeconds": "I",
    },
    "ExecAction": {"command": "[S"},
    "HTTPGetAction": {"path": "s", "port": "x", "host": "s", "scheme": "s", "httpHeaders": "[HTTPHeader"},
    "HTTPHeader": {"name": "S", "value": "S"},
    "TCPSocketAction": {"port": "x", "host": "s"},
    "GRPCAction": {"port": "I", "service": "S"},
    "Lifecycle": {"postStart": "LifecycleHandler", "preStop": "LifecycleHandler", "stopSignal": "S"},
    "LifecycleHandler": {"exec": "ExecAction", "httpGet": "HTTPGetAction", "tcpSocket": "TCPSocketAction", "sleep": "o"},
    "SecurityContext": {
        "capabilities": "Capabilities", "privileged": "B", "seLinuxOptions": "o", "windowsOptions": "o",
        "runAsUser": "I", "runAsGroup": "I",
        "runAsNonRoot": "B", "readOnlyRootFilesystem": "B", "allowPrivilegeEscalation": "B", "procMount": "S", "seccompProfile": "o",
        "appArmorProfile": "o",
    },
    "Capabilities": {"add": "[S", "drop": "[S"},
    "PodSecurityContext": {
        "seLinuxOptions": "o", "windowsOptions": "o", "runAsUser": "I", "runAsGroup": "I", "runAsNonRoot": "B", "supplementalGroups": "[I",
        "supplementalGroupsPolicy": "S", "fsGroup": "I", "sysctls": "[o", "fsGroupChangePolicy": "S", "seccompProfile": "o",
        "appArmorProfile": "o", "seLinuxChangePolicy": "S",
    },
    "Named": {"name": "s"},
    "Affinity": {"nodeAffinity": "o", "podAffinity": "o", "podAntiAffinity": "o"},
    "Toleration": {"key": "s", "operator": "s", "value": "s", "effect": "s", "tolerationSeconds": "I"},
    "HostAlias": {"ip": "s", "hostnames": "[S"},
    "PodDNSConfig": {"nameservers": "[S", "searches": "[S", "options": "[o"},
    "ReadinessGate": {"conditionType": "s"},
    "TopologySpreadConstraint": {
        "maxSkew": "I", "topologyKey": "s", "whenUnsatisfiable": "s", "labelSelector": "o", "minDomains": "I", "nodeAffinityPolicy": "S",
        "nodeTaintsPolicy": "S", "matchLabelKeys": "[S",
    },
    "PodResourceClaim": {"name": "s", "resourceClaimName": "S", "resourceClaimTemplateName": "S"},
    "Volume": {
        "name": "s", "hostPath": "HostPath", "emptyDir": "EmptyDir", "secret": "SecretVolume", "configMap": "ConfigMapVolume",
        "persistentVolumeClaim": "ClaimVolume", "projected": "o", "downwardAPI": "o", "ephemeral": "o", "csi": "o",
        "nfs": "o", "image": "o",
        "gcePersistentDisk": "o", "awsElasticBlockStore": "o", "gitRepo": "o", "iscsi": "o", "glusterfs": "o",
        "rbd": "o", "flexVolume": "o",
        "cinder": "o", "cephfs": "o", "flocker": "o", "fc": "o", "azureFile": "o", "vsphereVolume": "o", "quobyte": "o", "azureDisk": "o",
        "photonPersistentDisk": "o", "portworxVolume": "o", "scaleIO": "o", "storageos": "o",
    },
    "HostPath": {"path": "s", "type": "S"},
    "EmptyDir": {"medium": "s", "sizeLimit": "q"},
    "SecretVolume": {"secretName": "s", "items": "[KeyToPath", "defaultMode": "I", "optional": "B"},
    "ConfigMapVolume": {"name": "s", "items": "[KeyToPath", "defaultMode": "I", "optional": "B"},
    "KeyToPath": {"key": "s", "path": "s", "mode": "I"},
    "ClaimVolume": {"claimName": "s", "readOnly": "b"},
}  # fmt: skip

POD = Shape(TYPES, "Pod")
JOB = Shape(TYPES, "Job")
