"""Token authentication of Ray's own ports: the variables and the volume that each container running Ray gets, and the token's Secret
(KubeRay, 2.3, 2.4).

No value of a Secret is read, and none is known here: the token is drawn when the Secret is sent (`planning.actions.Create.drawn`).
"""

from __future__ import annotations

from typing import Any

from rayfleet.api.config import Configuration
from rayfleet.api.names import token_secret_name
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.validation.auth import TOKEN_SINCE
from rayfleet.api.validation.versions import too_old
from rayfleet.planning.actions import TO_BE_DRAWN
from rayfleet.resources.env import Variable, literal
from rayfleet.resources.ownership import owner_reference, secret_labels

Manifest = dict[str, Any]
MODE, TOKEN, KUBERNETES = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ENABLE_K8S_TOKEN_AUTH"
KEY = "auth_token"
VOLUME, PATH = "ray-token", "/var/run/secrets/ray.io/serviceaccount"
TOKEN_SECONDS = 3600


def is_on(cluster: RayCluster, config: Configuration) -> bool:
    """Does the spec ask for tokens? Where it says nothing the operator's configuration does, for versions of Ray that know them."""
    options = cluster.spec.auth_options
    if options is None:
        return config.default_auth_mode == "token" and not too_old(cluster.spec.ray_version, TOKEN_SINCE)
    return options.mode == "token"


def asks_kubernetes(cluster: RayCluster, config: Configuration) -> bool:
    """Are the tokens those of service accounts, which Ray lets the API server review?"""
    options = cluster.spec.auth_options
    return is_on(cluster, config) and options is not None and bool(options.enable_k8s_token_auth)


def needs_secret(cluster: RayCluster, config: Configuration) -> bool:
    """Is the token one that the operator makes?"""
    options = cluster.spec.auth_options
    given = options is not None and bool(options.secret_name)
    return is_on(cluster, config) and not given and not asks_kubernetes(cluster, config)


def secret_name(cluster: RayCluster) -> str:
    """The Secret that holds the token under `auth_token`: the user's own, else ours."""
    options = cluster.spec.auth_options
    return (options.secret_name if options else None) or token_secret_name(cluster.metadata.name)


def shown_secret(cluster: RayCluster, config: Configuration) -> str:
    """The Secret whose token whoever speaks to the head must show; "" where there is none to read."""
    return secret_name(cluster) if is_on(cluster, config) and not asks_kubernetes(cluster, config) else ""


def secret(cluster: RayCluster) -> Manifest:
    """The Secret without its value, which is drawn when it is sent."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": token_secret_name(cluster.metadata.name),
            "namespace": cluster.metadata.namespace,
            "labels": secret_labels(cluster.metadata.name),
            "ownerReferences": [owner_reference(cluster)],
        },
        "type": "Opaque",
        "data": {KEY: TO_BE_DRAWN},
    }


def with_auth(cluster: RayCluster, container: Manifest, config: Configuration) -> Manifest:
    """A container that runs Ray, told explicitly which mode it is in: where nothing is said Ray looks for a token file of its own, and from
    2.61 on demands tokens.

    What the spec asks for wins over variables of the template. Without it the template may still set the mode by itself.
    """
    given = [dict(variable) for variable in container.get("env") or ()]
    if not is_on(cluster, config):
        says = container.get("envFrom") or any(variable.get("name") == MODE for variable in given)
        return container if says else {**container, "env": [*given, literal(MODE, "disabled")]}
    kept = [variable for variable in given if variable.get("name") not in (MODE, TOKEN, KUBERNETES)]
    made = {**container, "env": [*kept, *variables(cluster, config)]}
    if not asks_kubernetes(cluster, config):
        return made
    mount = {"name": VOLUME, "mountPath": PATH, "readOnly": True}
    return {**made, "volumeMounts": [*(container.get("volumeMounts") or ()), mount]}


def variables(cluster: RayCluster, config: Configuration) -> list[Variable]:
    mode = literal(MODE, "token")
    if asks_kubernetes(cluster, config):
        return [mode, literal(KUBERNETES, "true")]
    return [mode, {"name": TOKEN, "valueFrom": {"secretKeyRef": {"name": secret_name(cluster), "key": KEY}}}]


def with_token_volume(cluster: RayCluster, spec: Manifest, config: Configuration) -> Manifest:
    """The Pod's spec with the token of its service account, where that is what Ray is shown."""
    if not asks_kubernetes(cluster, config):
        return spec
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}}
    return {**spec, "volumes": [*(spec.get("volumes") or ()), {"name": VOLUME, "projected": {"sources": [token]}}]}
