"""Secrets and certificates that are missing, lost, foreign or late; and that no secret value leaves its Secret.

The operator runs as a whole, on the embedded API and on a real control plane, with an issuer in cert-manager's place.
"""

from __future__ import annotations

import base64
import json
import logging
import time

import pytest
from prometheus_client import generate_latest

from rayfleet.api.config import Configuration
from rayfleet.api.meta import EVENTS, PODS, RAYCLUSTERS, SECRETS
from rayfleet.planning.clock import parse_rfc3339
from tests.issuer.definitions import install
from tests.issuer.issuer import Mood, issuing
from tests.parity.canonical import Json
from tests.parity.cluster import Cluster, applied, cluster, group
from tests.parity.stage import Opening, Stage, found, until
from tests.parity.stage import stage as opened
from tests.parity.swift import SwiftClock
from tests.parity.wiretap import Wiretap

GATES = Configuration(feature_gates={"RayClusterMTLS": True, "RayClusterNetworkPolicy": True})
TOKEN: Json = {"authOptions": {"mode": "token"}}
TLS: Json = {"tlsOptions": {"enabled": True}}
MINUTES = 100.0  # a swift clock's rate


async def secret(place: Stage, name: str) -> Json:
    """Waits for it."""
    answer: Json = await until(lambda: found(place.client, SECRETS, name, place.namespace), what=f"no Secret {name}")
    return answer


async def gone(demo: Cluster, kind: str) -> None:
    async def is_gone() -> bool:
        return kind not in await demo.conditions()

    await until(is_gone, what=f"{kind} is still told")


async def test_a_lost_secret_is_made_again_with_another_token_and_told_until_the_head_is_replaced(stage: Opening) -> None:
    async with stage() as place:
        demo = await applied(place, cluster(group(), **TOKEN))
        await demo.ready()
        before, pods = await secret(place, "demo"), {pod["metadata"]["uid"] for pod in await place.client.list(PODS, place.namespace)}

        head = await demo.head()

        async def is_older() -> bool:  # the API tells times in whole seconds
            return time.time() - seconds_of(head) > 1.1

        await until(is_older)
        await place.client.delete(SECRETS, "demo", place.namespace)
        told = await demo.condition("TokenReplaced")
        assert "delete the head Pod" in told["message"]
        after = await secret(place, "demo")
        assert after["data"] != before["data"]
        assert {pod["metadata"]["uid"] for pod in await place.client.list(PODS, place.namespace)} == pods
        await demo.delete_pod(head["metadata"]["name"])
        await gone(demo, "TokenReplaced")


def seconds_of(obj: Json) -> float:
    return parse_rfc3339(obj["metadata"]["creationTimestamp"])


async def test_a_secret_that_somebody_put_there_before_is_not_used(stage: Opening) -> None:
    async with stage(clock=SwiftClock(MINUTES)) as place:
        known = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "demo", "namespace": place.namespace}}
        await place.apply({**known, "stringData": {"auth_token": "known"}})
        demo = await applied(place, cluster(group(), **TOKEN))
        assert (await demo.condition("ReplicaFailure"))["reason"] == "NameConflict"
        await demo.quiet()
        assert await place.client.list(PODS, place.namespace) == []
        await place.client.delete(SECRETS, "demo", place.namespace)
        await demo.ready()
        assert base64.b64decode((await secret(place, "demo"))["data"]["auth_token"]) != b"known"


async def test_an_unchanged_secret_is_never_written_again(stage: Opening) -> None:
    async with stage(GATES, clock=SwiftClock(MINUTES), mood=Mood.WILLING) as place:
        demo = await applied(place, cluster(group(), **TOKEN, **TLS))
        await demo.ready()
        await demo.quiet(1.3 + 600 / MINUTES)
        written = [entry for entry in place.written() if entry.resource == "secrets"]
        writes = [entry.verb if entry.verb == "create" else f"{entry.verb} {entry.name}" for entry in written]
        uid = (await demo.get())["metadata"]["uid"][:8]
        issued = {f"demo-ca-secret-{uid}", "ray-head-secret-demo", "ray-worker-secret-demo"}
        assert sorted(writes) == sorted(["create", *(f"patch {name}" for name in issued)])


async def test_an_issuer_that_is_silent_holds_up_its_cluster_and_no_other(stage: Opening) -> None:
    async with stage(GATES, mood=Mood.SILENT) as place:
        demo = await applied(place, cluster(group(), **TLS))
        told = await demo.condition("CertificatesReady", "False")
        assert told["reason"] == "WaitingForIssuer"
        other = await applied(place, cluster(group(), name="other"))
        await other.ready()
        assert {pod["metadata"]["labels"]["ray.io/cluster"] for pod in await place.client.list(PODS, place.namespace)} == {"other"}
        assert place.issuer is not None
        place.issuer.turn(Mood.FAILING)

        async def quoted() -> bool:
            return "quota exceeded" in (await demo.conditions())["CertificatesReady"]["message"]

        await until(quoted, what="the issuer is quoted")
        place.issuer.turn(Mood.WILLING)
        await demo.ready()
        assert (await demo.conditions())["CertificatesReady"]["status"] == "True"


async def test_a_certificates_secret_that_is_lost_is_issued_again_and_goes_with_the_cluster(stage: Opening) -> None:
    async with stage(GATES, mood=Mood.WILLING) as place:
        demo = await applied(place, cluster(group(), **TLS))
        await demo.ready()
        await demo.quiet()
        before = await secret(place, "ray-head-secret-demo")
        owner = (await demo.get())["metadata"]["uid"]
        assert [each["uid"] for each in before["metadata"]["ownerReferences"]] == [owner]
        await place.client.delete(SECRETS, "ray-head-secret-demo", place.namespace)
        await secret(place, "ray-head-secret-demo")
        await demo.delete_pod((await demo.head())["metadata"]["name"])  # the next look adopts it

        async def adopted() -> bool:
            again = await secret(place, "ray-head-secret-demo")
            return [each["uid"] for each in again["metadata"].get("ownerReferences") or ()] == [owner]

        await until(adopted, what="the new Secret has its owner")
        await place.client.delete(RAYCLUSTERS, "demo", place.namespace, propagation="Background")

        async def none_left() -> bool:
            return not [each for each in await place.client.list(SECRETS, place.namespace) if "demo" in each["metadata"]["name"]]

        await until(none_left, 30, what="no Secret of the cluster is left")


async def test_cert_manager_may_come_later() -> None:
    async with opened(GATES, clock=SwiftClock(MINUTES)) as place:
        demo = await applied(place, cluster(group(), **TLS))
        assert (await demo.condition("CertificatesReady", "False"))["reason"] == "CertManagerMissing"
        await install(place.client)
        async with issuing(place.client):
            await demo.ready()


async def test_no_secret_value_leaves_its_secret(stage: Opening, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the operator's token nor a user's, nor a private key: not in what the operator asks for, writes, logs, tells or measures."""
    caplog.set_level(logging.DEBUG)
    tap = Wiretap()
    async with stage(GATES, through=tap.way, mood=Mood.WILLING) as place:
        given = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "given", "namespace": place.namespace}}
        labelled = {**given["metadata"], "labels": {"ray.io/cluster": "own"}}  # so that the operator's watch shows it
        await place.apply({**given, "metadata": labelled, "stringData": {"auth_token": "canary-of-the-user"}})
        await place.apply({**given, "metadata": {**labelled, "name": "taken"}, "stringData": {"auth_token": "canary-of-a-stranger"}})
        demo = await applied(place, cluster(group(), **TOKEN, **TLS, networkPolicy={"mode": "DenyAll"}, enableInTreeAutoscaling=True))
        own = await applied(place, cluster(name="own", authOptions={"mode": "token", "secretName": "given"}))
        taken = await applied(place, cluster(name="taken", **TOKEN))
        await demo.ready()
        await own.ready()
        await taken.condition("ReplicaFailure")
        await place.client.delete(SECRETS, "demo", place.namespace)
        await secret(place, "demo")
        await demo.quiet()
        canaries = await values(place)
        assert len(canaries) >= 8
        told = await everything_else(place)
        metrics = generate_latest(place.manager.metrics.registry)
    made = [piece for piece in tap.sent for value in canaries if value in piece]
    assert len({bytes(piece) for piece in made}) <= 2  # the two creates of the token's Secret, on as many connections
    assert all(b'"kind":"Secret"' in piece for piece in made)
    logs = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records).encode()
    assert b"CreatedSecret" in told or b"created demo" in logs  # what is looked through does speak of the Secret
    for name, emitted in {"the API": told, "metrics": metrics, "logs": logs}.items():
        assert [value for value in canaries if value in emitted] == [], name
    assert [value for piece in tap.received for value in canaries if value in piece] == []


async def values(place: Stage) -> list[bytes]:
    """What stands in the namespace's Secrets, in each form in which it could be told; certificates are no secrets."""
    held = [value for each in await place.client.list(SECRETS, place.namespace) for key, value in each["data"].items() if "crt" not in key]
    plain = [base64.b64decode(value) for value in held]
    return [*(value.encode() for value in held), *plain, *(json.dumps(value.decode())[1:-1].encode() for value in plain)]


async def everything_else(place: Stage) -> bytes:
    """Every object of the namespace but the Secrets."""
    events = await place.client.list(EVENTS, place.namespace)
    clusters = await place.client.list(RAYCLUSTERS, place.namespace)
    children = [child for child in await place.children(place.namespace) if child["kind"] != "Secret"]
    return json.dumps([*events, *clusters, *children]).encode()
