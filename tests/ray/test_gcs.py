"""The client of a head's GCS, against one that says what it is told to say, over real gRPC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rayfleet.api.meta import Key
from rayfleet.ray.gcs import MOST, Certificate, Gcs, Head, Refused, Unanswered
from rayfleet.ray.gcs_messages import IDLE_TERMINATION, message, parsed
from rayfleet.sim.gcs import BUSY, ScriptedGcs

CLUSTER = Key("default", "demo")


class Shown:
    """Secrets of a head: tokens in order, the next one after each refusal."""

    def __init__(self, *tokens: str, certificate: Certificate | None = None) -> None:
        self.tokens = list(tokens)
        self.shown = certificate

    async def token(self, head: Head) -> str:
        return self.tokens[0]

    async def certificate(self, head: Head) -> Certificate:
        assert self.shown is not None
        return self.shown

    def refused(self, head: Head) -> None:
        if len(self.tokens) > 1:
            self.tokens.pop(0)


@asynccontextmanager
async def running(gcs: ScriptedGcs, port: int = 0) -> AsyncIterator[Head]:
    found = await gcs.start(port)
    try:
        yield Head(CLUSTER, "127.0.0.1", found, token="secret" if gcs.token else "")
    finally:
        await gcs.stop()


@asynccontextmanager
async def client(*tokens: str, deadline: float = 5.0) -> AsyncIterator[Gcs]:
    found = Gcs(Shown(*tokens or ("",)), deadline)
    try:
        yield found
    finally:
        await found.close()


async def test_what_is_sent_and_what_is_said() -> None:
    gcs = ScriptedGcs()
    gcs.node("demo-small-worker-bcdfg", "small", {"CPU": 2.0})
    gcs.pending(3, CPU=1.0)
    async with running(gcs) as head, client() as ours:
        state = parsed("GetClusterResourceStateReply", await ours.state(head)).cluster_resource_state
        assert [(node.instance_id, node.total_resources["CPU"]) for node in state.node_states] == [("demo-small-worker-bcdfg", 2.0)]
        assert [(each.count, dict(each.request.resources_bundle)) for each in state.pending_resource_requests] == [(3, {"CPU": 1.0})]

        report = message("ReportAutoscalingStateRequest")
        report.autoscaling_state.pending_instance_requests.add(ray_node_type_name="small", count=2)
        await ours.report(head, report.SerializeToString())
        floor = message("RequestClusterResourceConstraintRequest")
        floor.cluster_resource_constraint.resource_requests.add(count=4).request.resources_bundle["CPU"] = 1.0
        await ours.constrain(head, floor.SerializeToString())
        kept = parsed("GetClusterResourceStateReply", await ours.state(head)).cluster_resource_state.cluster_resource_constraints
        assert [(each.count, dict(each.request.resources_bundle)) for each in kept[0].resource_requests] == [(4, {"CPU": 1.0})]
        told = parsed("GetClusterStatusReply", await ours.status(head)).autoscaling_state
        assert [(each.ray_node_type_name, each.count) for each in told.pending_instance_requests] == [("small", 2)]


async def test_a_busy_node_says_no_and_an_idle_one_goes() -> None:
    gcs = ScriptedGcs()
    node = gcs.node("demo-small-worker-bcdfg", "small", {"CPU": 2.0})
    gcs.busy(node)
    request = message("DrainNodeRequest", node_id=node.node_id, reason=IDLE_TERMINATION).SerializeToString()
    async with running(gcs) as head, client() as ours:
        refused = parsed("DrainNodeReply", await ours.drain(head, request))
        assert (refused.is_accepted, refused.rejection_reason_message) == (False, BUSY)
        gcs.idle(node)
        assert parsed("DrainNodeReply", await ours.drain(head, request)).is_accepted
    assert gcs.drained == ["demo-small-worker-bcdfg"]


async def test_a_token_that_is_refused_is_read_again() -> None:
    async with running(ScriptedGcs(token="new")) as head, client("old", "new") as ours:
        with pytest.raises(Refused, match="UNAUTHENTICATED"):
            await ours.state(head)
        assert await ours.state(head)


async def test_a_ray_without_the_service_says_so() -> None:
    gcs = ScriptedGcs()
    gcs.absent = True
    async with running(gcs) as head, client() as ours:
        with pytest.raises(Refused) as refusal:
            await ours.state(head)
    assert refusal.value.code == "UNIMPLEMENTED"


async def test_an_answer_without_end_is_not_taken() -> None:
    gcs = ScriptedGcs()
    gcs.content = bytes(MOST + 1)
    async with running(gcs) as head, client() as ours:
        with pytest.raises(Refused, match="RESOURCE_EXHAUSTED"):
            await ours.state(head)


async def test_a_head_that_keeps_silent_is_given_up_in_time_and_called_anew() -> None:
    gcs = ScriptedGcs()
    gcs.silence = True
    async with running(gcs) as head, client(deadline=0.1) as ours:
        for _ in range(3):
            with pytest.raises(Unanswered, match=r"0\.1 s"):
                await ours.state(head)
        gcs.silence = False
        assert await ours.state(head) is not None


async def test_ray_60860_a_head_that_was_replaced_is_found_at_its_new_address_and_at_the_old_one() -> None:
    """Who names the cluster of before is refused, and Ray's autoscaler ends of it."""
    async with client() as ours:
        async with running(ScriptedGcs("first")) as head:
            assert await session(ours, head) == "first"
        with pytest.raises(Unanswered):
            await ours.state(head)
        async with running(ScriptedGcs("second")) as other:
            assert await session(ours, other) == "second"
        async with running(ScriptedGcs("third"), head.port) as again:
            assert again == head
            assert await session(ours, again) == "third"


async def session(ours: Gcs, head: Head) -> str:
    state = parsed("GetClusterResourceStateReply", await ours.state(head)).cluster_resource_state
    return str(state.cluster_session_name)


async def test_only_who_shows_the_clusters_certificate_is_let_in() -> None:
    import grpc

    certificate = self_signed("demo-head-svc.default.svc.cluster.local")
    server = grpc.ssl_server_credentials([(certificate.key, certificate.chain)], certificate.authority, require_client_auth=True)
    gcs = ScriptedGcs()
    port = await gcs.start(credentials=server)
    head = Head(CLUSTER, "127.0.0.1", port, certificate="ray-head-secret-demo", host="demo-head-svc.default.svc.cluster.local")
    shown, stranger = Gcs(Shown("", certificate=certificate)), Gcs(Shown(""))
    try:
        assert await shown.state(head)
        with pytest.raises(Unanswered):
            await stranger.state(Head(CLUSTER, "127.0.0.1", port))
    finally:
        await shown.close()
        await stranger.close()
        await gcs.stop()


def self_signed(host: str) -> Certificate:
    """One certificate that is its own authority."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "demo")])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + datetime.timedelta(days=36500))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    chain = made.public_bytes(serialization.Encoding.PEM)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(chain, chain, key.private_bytes(*form))
