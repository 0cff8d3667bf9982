"""What is asked of cert-manager, what is told of it, and what waits for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import CERTIFICATES, ISSUERS
from rayfleet.api.raycluster import RayCluster
from rayfleet.api.views import CertificateView, decode_certificate
from rayfleet.planning.actions import Create, Patch
from rayfleet.planning.plan import Plan
from rayfleet.raycluster.observed import Observed
from rayfleet.raycluster.plan import plan
from rayfleet.resources import tls
from tests.raycluster.vocabulary import child_of, cluster, created, deleted, group, head, observed, with_status, worker

GATES = Configuration(feature_gates={"RayClusterMTLS": True})
TLS = {"tlsOptions": {"enabled": True}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
ANEW = {"conditions": [{"type": "Ready", "status": "False", "message": "is issued anew"}], "notAfter": "2027-01-01T00:00:00Z"}
REFUSED = {"conditions": [{"type": "Issuing", "status": "False", "message": "quota exceeded"}, {"type": "Ready", "status": "False"}]}


def view(manifest: dict[str, Any], status: dict[str, Any]) -> CertificateView:
    metadata = {**manifest["metadata"], "uid": f"uid-{manifest['metadata']['name']}"}
    return decode_certificate(msgspec.json.encode({**manifest, "metadata": metadata, "status": status}))


def answered(
    of: RayCluster, status: dict[str, Any] = READY, addresses: tuple[str, ...] = ("10.0.0.1", tls.LOCAL), without: str = ""
) -> dict[Any, Any]:
    """All that the cluster needs of cert-manager; each Certificate with the status."""
    nodes = [tls.node_certificate(of, node_type, addresses, GATES) for node_type in ("head", "worker")]
    made = [manifest for manifest in (tls.ca_certificate(of), *nodes) if manifest["metadata"]["name"] != without]
    views = sorted((view(manifest, status) for manifest in made), key=lambda found: found.name)
    return {CERTIFICATES: tuple(views), ISSUERS: tuple(child_of(issuer) for issuer in tls.issuers(of))}


def seen(of: RayCluster, *pods: Any, **more: Any) -> Observed:
    return observed(of, *pods, config=GATES, **more)


def told(made: Plan) -> dict[str, Any]:
    assert made.status is not None
    (condition,) = (each for each in made.status.patch["conditions"] if each["type"] == "CertificatesReady")
    return dict(condition)


def kinds(made: Plan) -> list[str]:
    return [action.resource.kind for action in made.actions if isinstance(action, Create)]


def addresses_of(actions: Iterable[Any]) -> dict[str, Any]:
    return {action.name: action.patch["spec"]["ipAddresses"] for action in actions if isinstance(action, Patch)}


def test_pods_wait_for_the_certificates_and_the_status_says_so() -> None:
    made = plan(seen(cluster(group(), **TLS)))
    assert kinds(made) == ["Issuer", "Certificate", "Issuer", "Certificate", "Certificate"]
    condition = told(made)
    assert (condition["status"], condition["reason"]) == ("False", "WaitingForIssuer")
    assert "ray-ca-certificate-demo" in condition["message"]


@pytest.mark.parametrize("missing", ["ray-ca-certificate-demo", "ray-head-cert-demo", "ray-worker-cert-demo"])
def test_each_certificate_is_waited_for(missing: str) -> None:
    of = cluster(group(), **TLS)
    made = plan(seen(of, others=answered(of, without=missing)))
    assert created(made) == [missing]
    assert missing in told(made)["message"]


def test_with_all_of_them_pods_are_made() -> None:
    of = cluster(group(replicas=1), **TLS)
    made = plan(seen(of, others=answered(of)))
    assert kinds(made) == ["Pod", "Pod"]
    assert told(made)["status"] == "True"


def test_an_issuer_that_refuses_is_quoted() -> None:
    of = cluster(**TLS)
    assert told(plan(seen(of, others=answered(of, REFUSED))))["message"].endswith(": quota exceeded")


def test_what_is_issued_anew_holds_up_nothing() -> None:
    of = cluster(group(replicas=1), **TLS)
    assert kinds(plan(seen(of, others=answered(of, ANEW)))) == ["Pod", "Pod"]


def test_where_nobody_serves_certificates_this_is_told_and_asked_again_and_nothing_is_sent_there() -> None:
    made = plan(seen(cluster(**TLS), services=(), unseen=frozenset({CERTIFICATES, ISSUERS})))
    assert kinds(made) == ["Service"]
    assert told(made)["reason"] == "CertManagerMissing"
    assert made.requeue_after == 30.0


def test_every_pods_address_is_named_once_it_has_one() -> None:
    of = cluster(group(replicas=2), **TLS)
    pods = head(), worker(0, status={"podIP": "10.0.0.9"}), worker(1, status={"podIP": "10.0.0.5"}), worker(2, status={"podIP": ""})
    made = plan(seen(of, *pods, others=answered(of, addresses=(tls.LOCAL,))))
    assert addresses_of(made.actions) == {
        "ray-head-cert-demo": ["10.0.0.1", "127.0.0.1"],
        "ray-worker-cert-demo": ["10.0.0.5", "10.0.0.9", "127.0.0.1"],
    }


def test_an_address_too_many_is_no_reason_to_issue_anew() -> None:
    of = cluster(group(replicas=1), **TLS)
    many = ("10.0.0.1", "10.0.0.7", tls.LOCAL)
    assert plan(seen(of, head(), worker(0), others=answered(of, addresses=many))).actions == ()


def test_a_certificate_that_somebody_turned_to_another_host_is_put_right() -> None:
    of = cluster(**TLS)
    others = answered(of)
    manifest = tls.node_certificate(of, "head", ("10.0.0.1", tls.LOCAL), GATES)
    wrong = view({**manifest, "spec": {**manifest["spec"], "dnsNames": ["elsewhere"]}}, READY)
    others[CERTIFICATES] = (*(found for found in others[CERTIFICATES] if found.name != wrong.name), wrong)
    (patch,) = (action.patch for action in plan(seen(of, head(), others=others)).actions if isinstance(action, Patch))
    assert patch == {"spec": {"dnsNames": manifest["spec"]["dnsNames"]}}


def test_without_the_option_all_of_it_goes() -> None:
    before = answered(cluster(**TLS))
    assert deleted(plan(seen(cluster(), head(), others=before))).keys() == tls.names(cluster(**TLS))


def test_a_flip_is_told_once() -> None:
    of = cluster(**TLS)
    waiting = with_status(of, plan(seen(of)))
    issued = plan(seen(waiting, others=answered(of)))
    assert [event.reason for event in issued.events] == ["MTLSPKIReady"]
    calm = with_status(waiting, issued)
    assert plan(seen(calm, others=answered(of))).events == ()
    lost = plan(seen(calm, others=answered(of, REFUSED)))
    assert [(event.type, event.reason) for event in lost.events] == [("Warning", "MTLSCertsNotReady")]


def secret(name: str, certificate: str) -> Any:
    return child_of({"metadata": {"name": name, "namespace": "default", "annotations": {tls.ISSUED_AS: certificate}}})


def test_what_certificates_were_issued_into_goes_with_the_cluster() -> None:
    of = cluster(**TLS)
    found = secret("ray-head-secret-demo", "ray-head-cert-demo")
    made = plan(seen(of, head(), others=answered(of), ownerless=(found,)))
    (patch,) = made.actions
    assert isinstance(patch, Patch)
    assert (patch.name, patch.uid) == ("ray-head-secret-demo", "uid-ray-head-secret-demo")
    (reference,) = patch.patch["metadata"]["ownerReferences"]
    assert (reference["uid"], reference["controller"]) == (of.metadata.uid, True)


def test_a_secret_that_is_no_certificates_is_not_taken() -> None:
    of = cluster(**TLS)
    found = secret("ray-head-secret-demo", "somebody-elses")
    assert plan(seen(of, head(), others=answered(of), ownerless=(found,))).actions == ()
