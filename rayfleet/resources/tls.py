"""Mutual TLS between a cluster's nodes, with certificates that cert-manager issues into Secrets (KubeRay, 2.10).

A self-signed issuer signs the cluster's own CA, that CA signs one certificate for the head and one for all workers. Ray's nodes call each
other by address, so a certificate must name the address of every Pod that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.meta import CERTIFICATES, ISSUERS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.validation.tls import MOUNT_PATH, VOLUME
from rayfleet.resources.env import Variable, from_field, head_host, literal
from rayfleet.resources.ownership import cluster_labels, owner_reference, secret_labels
from rayfleet.resources.pod_template import head_service_of

Manifest = dict[str, Any]
LOCAL = "127.0.0.1"
CA_LIFE, CA_RENEWAL = "87600h0m0s", "720h0m0s"
LIFE, RENEWAL = "2160h0m0s", "360h0m0s"
USAGES = ("digital signature", "key encipherment", "server auth", "client auth")
WAIT = "wait-for-tls-ip-san"
ISSUED_AS = "cert-manager.io/certificate-name"
"""What cert-manager writes on a Secret: the name of the Certificate that it belongs to."""

# `-checkip` ends with 0 whatever it finds; what it says is the answer.
SCRIPT = """\
waited=0
until openssl x509 -in {path}/tls.crt -noout -checkip "$POD_IP" 2>&1 | grep -q 'does match certificate'; do
  if [ $((waited % 30)) -eq 0 ]; then
    echo "$waited s: the certificate does not name $POD_IP yet; it names:"
    openssl x509 -in {path}/tls.crt -noout -ext subjectAltName 2>&1
  fi
  sleep 1
  waited=$((waited + 1))
done
echo "the certificate names $POD_IP after about $waited s"
"""


def is_on(cluster: RayCluster) -> bool:
    options = cluster.spec.tls_options
    return options is not None and bool(options.enabled)


def ca_certificate_name(cluster: RayCluster) -> str:
    return f"ray-ca-certificate-{cluster.metadata.name}"


def certificate_name(cluster: RayCluster, node_type: str) -> str:
    return f"ray-{node_type}-cert-{cluster.metadata.name}"


def certificate_names(cluster: RayCluster) -> tuple[str, ...]:
    return (ca_certificate_name(cluster), *(certificate_name(cluster, node_type) for node_type in (labels.HEAD, labels.WORKER)))


def ca_secret_name(cluster: RayCluster) -> str:
    return f"{cluster.metadata.name}-ca-secret-{cluster.metadata.uid[:8]}"


def secret_name(cluster: RayCluster, node_type: str) -> str:
    return f"ray-{node_type}-secret-{cluster.metadata.name}"


def secret_names(cluster: RayCluster) -> dict[str, str]:
    """The Secrets that certificates are issued into, each with its Certificate's name."""
    leaves = {secret_name(cluster, node_type): certificate_name(cluster, node_type) for node_type in (labels.HEAD, labels.WORKER)}
    return {ca_secret_name(cluster): ca_certificate_name(cluster), **leaves}


def names(cluster: RayCluster) -> frozenset[str]:
    """Of all Issuers and Certificates."""
    own, ca = issuers(cluster)
    return frozenset((own["metadata"]["name"], ca["metadata"]["name"], *certificate_names(cluster)))


def issuers(cluster: RayCluster) -> tuple[Manifest, Manifest]:
    """The one that signs itself, and the cluster's own CA."""
    own = issuer(cluster, f"ray-selfsigned-issuer-{cluster.metadata.name}", "selfsigned-issuer", {"selfSigned": {}})
    ca = issuer(cluster, f"ray-ca-issuer-{cluster.metadata.name}", "ca-issuer", {"ca": {"secretName": ca_secret_name(cluster)}})
    return own, ca


def issuer(cluster: RayCluster, name: str, component: str, spec: Manifest) -> Manifest:
    return {"apiVersion": ISSUERS.api_version, "kind": ISSUERS.kind, "metadata": metadata(cluster, name, component), "spec": spec}


def metadata(cluster: RayCluster, name: str, component: str) -> Manifest:
    return {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": {**cluster_labels(cluster.metadata.name), "app.kubernetes.io/component": component},
        "ownerReferences": [owner_reference(cluster)],
    }


def ca_certificate(cluster: RayCluster) -> Manifest:
    spec = {
        "commonName": f"ray-ca-{cluster.metadata.name}",
        "isCA": True,
        "duration": CA_LIFE,
        "renewBefore": CA_RENEWAL,
        "privateKey": {"algorithm": "RSA", "size": 4096},
        "usages": ["cert sign", "crl sign"],
        **issued(cluster, ca_secret_name(cluster), f"ray-selfsigned-issuer-{cluster.metadata.name}"),
    }
    return certificate(cluster, ca_certificate_name(cluster), "ca-certificate", spec)


def node_certificate(cluster: RayCluster, node_type: str, addresses: Sequence[str], config: Configuration) -> Manifest:
    """What all nodes of a type show; `addresses` are all that it names."""
    names = [head_host(cluster, config, head_service_of(cluster))] if node_type == labels.HEAD else []
    spec = {
        "dnsNames": [*names, "localhost"],
        "ipAddresses": list(addresses),
        "duration": LIFE,
        "renewBefore": RENEWAL,
        "usages": list(USAGES),
        **issued(cluster, secret_name(cluster, node_type), f"ray-ca-issuer-{cluster.metadata.name}"),
    }
    return certificate(cluster, certificate_name(cluster, node_type), f"{node_type}-certificate", spec)


def issued(cluster: RayCluster, secret: str, by: str) -> Manifest:
    """Into which Secret, which the label lets the operator see, and by whom."""
    return {
        "secretName": secret,
        "secretTemplate": {"labels": secret_labels(cluster.metadata.name)},
        "issuerRef": {"group": ISSUERS.group, "kind": ISSUERS.kind, "name": by},
    }


def certificate(cluster: RayCluster, name: str, component: str, spec: Manifest) -> Manifest:
    head = {"apiVersion": CERTIFICATES.api_version, "kind": CERTIFICATES.kind, "metadata": metadata(cluster, name, component)}
    return {**head, "spec": spec}


def covering(needed: Sequence[str], named: Sequence[str]) -> list[str]:
    """The addresses that a certificate must name. One that names too many is left alone: each change is issued anew."""
    if LOCAL in named and set(needed) <= set(named):
        return list(named)
    return [*sorted(needed), LOCAL]


def variables() -> list[Variable]:
    files = {"RAY_TLS_SERVER_CERT": "tls.crt", "RAY_TLS_SERVER_KEY": "tls.key", "RAY_TLS_CA_CERT": "ca.crt"}
    return [literal("RAY_USE_TLS", "1"), *(literal(name, f"{MOUNT_PATH}/{file}") for name, file in files.items())]


def with_tls(cluster: RayCluster, container: Manifest) -> Manifest:
    """A container that runs Ray, with its certificate."""
    if not is_on(cluster):
        return container
    mounts = [*(container.get("volumeMounts") or ()), mount()]
    return {**container, "env": [*(container.get("env") or ()), *variables()], "volumeMounts": mounts}


def mount() -> Manifest:
    return {"name": VOLUME, "mountPath": MOUNT_PATH, "readOnly": True}


def with_certificate(cluster: RayCluster, node_type: str, spec: Manifest, image: Manifest) -> Manifest:
    """The Pod's spec with the certificate's volume, and first of all a container that waits until the certificate names the Pod's address.
    `image` is the image of Ray's container, with its pull policy and security context."""
    if not is_on(cluster):
        return spec
    volume = {"name": VOLUME, "secret": {"secretName": secret_name(cluster, node_type)}}
    small = {"cpu": "50m", "memory": "64Mi"}
    wait = {
        "name": WAIT,
        **image,
        "command": ["sh", "-c"],
        "args": [SCRIPT.format(path=MOUNT_PATH)],
        "env": [from_field("POD_IP", "status.podIP")],
        "resources": {"limits": dict(small), "requests": dict(small)},
        "volumeMounts": [mount()],
    }
    return {**spec, "volumes": [*(spec.get("volumes") or ()), volume], "initContainers": [wait, *(spec.get("initContainers") or ())]}
