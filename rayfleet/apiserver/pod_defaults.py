"""What the API server fills into a Pod (k8s.io/kubernetes pkg/apis/core/v1/defaults.go)."""

from __future__ import annotations

from rayfleet.apiserver.record import Obj

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINER_LISTS = ("initContainers", "containers")


def default_pod(obj: Obj) -> None:
    default_pod_spec(obj.setdefault("spec", {}))


def begin_pod(obj: Obj) -> None:
    obj["status"] = {"phase": "Pending", "qosClass": quality(obj.get("spec") or {})}


def default_pod_spec(spec: Obj) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    if account := spec.get("serviceAccountName"):
        spec.setdefault("serviceAccount", account)
    elif account := spec.get("serviceAccount"):
        spec["serviceAccountName"] = account
    for name in _CONTAINER_LISTS:
        for container in spec.get(name) or ():
            _default_container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def _default_container(container: Obj, *, host_network: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    resources = container.setdefault("resources", {})
    if limits := resources.get("limits"):
        # A limit without a request is a request too.
        resources["requests"] = {**limits, **(resources.get("requests") or {})}
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network:
            port.setdefault("hostPort", port.get("containerPort"))
    for env in container.get("env") or ():
        if field := (env.get("valueFrom") or {}).get("fieldRef"):
            field.setdefault("apiVersion", "v1")
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            _default_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and (get := hook.get("httpGet")):
            _default_http_get(get)


def _default_probe(probe: Obj) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if get := probe.get("httpGet"):
        _default_http_get(get)
    if grpc := probe.get("grpc"):
        grpc.setdefault("service", "")


def _default_http_get(get: Obj) -> None:
    get.setdefault("path", "/")
    get.setdefault("scheme", "HTTP")


def _default_volume(volume: Obj) -> None:
    sources = [name for name in volume if name != "name"]
    if not sources:
        volume["emptyDir"] = {}
    for name in ("configMap", "secret", "downwardAPI", "projected"):
        if source := volume.get(name):
            source.setdefault("defaultMode", 0o644)
    if (path := volume.get("hostPath")) is not None:
        path.setdefault("type", "")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if token := source.get("serviceAccountToken"):
            token.setdefault("expirationSeconds", 3600)
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        if field := item.get("fieldRef"):
            field.setdefault("apiVersion", "v1")


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    _, colon, tag = name.partition(":")
    return "IfNotPresent" if colon and tag != "latest" else "Always"


def quality(spec: Obj) -> str:
    """status.qosClass, by cpu and memory alone."""
    guaranteed, any_given = True, False
    containers = [container for name in _CONTAINER_LISTS for container in spec.get(name) or () if isinstance(container, dict)]
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            any_given = any_given or name in limits or name in requests
            guaranteed = guaranteed and name in limits and requests.get(name, limits[name]) == limits[name]
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"
