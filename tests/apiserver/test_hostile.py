"""Clients that mean no good. While each is at it, another one is served.

What is answered is compared with Kubernetes in tests/conformance (topic `hostile`).
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import os
import resource
from typing import Any

import pytest

from rayfleet.apiserver import watching
from tests.apiserver.manifests import BOATS, CONFIGMAPS, DEFINITIONS, boats, configmap, pod
from tests.apiserver.peer import APPLY, JSON_PATCH, MERGE, STRATEGIC, Peer, take, until
from tests.apiserver.place import ADMIN, place, request

WATCHES = int(os.environ.get("RAYFLEET_WATCHES", "1000"))
"""5,000 take half a minute"""
SENT = 16
"""megabytes; more than two sockets keep"""


async def test_a_body_that_never_ends_is_answered_and_nobody_waits() -> None:
    async with place(patience=0.3) as there:
        slow = [await there.opened(request(1000) + b"{") for _ in range(20)]
        await there.serves()
        for reader, writer in slow:
            assert (await reader.readline()).startswith(b"HTTP/1.1 504 ")
            writer.close()


async def test_a_body_that_would_be_too_large_is_not_waited_for() -> None:
    async with place() as there:
        reader, writer = await there.opened(request(10**12) + b"{")
        assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
        writer.close()


async def test_requests_without_an_end_keep_nobody() -> None:
    async with place() as there:
        slow = [await there.opened(b"GET /api/v1/pods HTTP/1.1\r\nHost:") for _ in range(50)]
        await there.serves()
        for _, writer in slow:
            writer.close()


async def test_compressed_bodies_are_not_opened() -> None:
    bomb = gzip.compress(b'{"a":"' + b"x" * 50_000_000 + b'"}')
    async with place() as there:
        reader, writer = await there.opened(request(len(bomb), "Content-Encoding: gzip", "Content-Type: application/json") + bomb)
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
        writer.close()


@pytest.mark.parametrize("depth", [150, 250, 1_000, 100_000])
@pytest.mark.parametrize("verb", ["POST", "PATCH", "APPLY", "DELETE"])
async def test_deep_bodies_are_taken_or_refused(depth: int, verb: str) -> None:
    body = (
        b'{"apiVersion":"sea.example/v1","kind":"Boat","metadata":{"name":"deep"},"spec":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    )
    definition = boats({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    async with place() as there:
        assert (await there.peer.create(DEFINITIONS, definition)).status == 201
        if verb == "POST":
            answer = await there.peer.ask("POST", BOATS, body)
        elif verb == "APPLY":
            answer = await there.peer.ask("PATCH", f"{BOATS}/deep?fieldManager=me", body, APPLY)
        else:
            await there.peer.create(BOATS, {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "deep"}, "spec": {}})
            answer = await there.peer.ask(
                verb, f"{BOATS}/deep", body, "application/merge-patch+json" if verb == "PATCH" else "application/json"
            )
        assert answer.status in ((200, 201, 400) if depth == 150 else (400,)), answer
        # What was taken can be read, watched and deleted.
        listed = await there.peer.get(BOATS)
        assert listed.status == 200
        for each in listed.body["items"]:
            assert (await there.peer.delete(f"{BOATS}/{each['metadata']['name']}")).status == 200


async def test_patches_cannot_grow_without_an_end() -> None:
    double: list[dict[str, Any]] = [{"op": "copy", "from": "/spec/a", "path": "/spec/a/-"}] * 60
    async with place() as there:
        await there.peer.create(DEFINITIONS, boats({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
        body = {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"a": ["x" * 100]}}
        assert (await there.peer.create(BOATS, body)).status == 201
        assert (await there.peer.patch(f"{BOATS}/b", double, JSON_PATCH)).status == 422
        assert (await there.peer.get(f"{BOATS}/b")).body["spec"] == body["spec"]


@pytest.mark.parametrize(
    "text", [b"a: &a [*a]", b"- &a x\n" + b"- *a\n" * 10, b"a: !!python/object:os.system x", b"{" * 5000, b"[" * 1_000_000]
)
async def test_odd_yaml_is_refused(text: bytes) -> None:
    async with place() as there:
        answer = await there.peer.ask("POST", CONFIGMAPS, text, "application/yaml")
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def costly(rule: str) -> dict[str, Any]:
    items = {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "properties": {"many": items, "text": {"type": "string"}}, "x-kubernetes-validations": [{"rule": rule}]}
    return boats(schema)


async def test_a_rule_that_costs_too_much_is_cut_off() -> None:
    rule = "self.many.all(a, self.many.all(b, self.many.all(c, a + b + c > 0)))"
    async with place() as there:
        assert (await there.peer.create(DEFINITIONS, costly(rule))).status == 201
        body = {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"many": [1] * 1000}}
        answer = await there.peer.create(BOATS, body)
        assert answer.status == 422
        assert "'operation cancelled: actual cost limit exceeded': no further validation rules will be run" in answer.body["message"]
        await there.serves()


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "^(.*a){10}$"])
async def test_a_pattern_does_not_explode(pattern: str) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string", "pattern": pattern}}}
    by_rule = costly(f"self.text.matches('{pattern}')")
    for definition in (boats(schema), by_rule):
        async with place() as there:
            assert (await there.peer.create(DEFINITIONS, definition)).status == 201
            body = {"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"text": "a" * 100_000 + "b"}}
            assert (await there.peer.create(BOATS, body)).status == 422


async def test_a_token_is_good_for_its_own_namespace_only() -> None:
    async with place() as there:
        await there.peer.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
        rights = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}], "metadata": {"name": "r"}}
        group = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        await there.peer.create(f"{group}/roles", rights)
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        await there.peer.create(f"{group}/rolebindings", {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": role})
        made = await there.peer.create("/api/v1/namespaces/default/serviceaccounts/default/token", {"spec": {}})
        robot = Peer(f"http://127.0.0.1:{there.port}", made.body["status"]["token"])
        assert (await robot.create("/api/v1/namespaces/default/pods", pod("a"))).status == 201
        for answer in (
            await robot.get("/api/v1/namespaces/other/pods"),
            await robot.get("/api/v1/pods"),
            await robot.create("/api/v1/namespaces/other/pods", pod("a")),
            await robot.get("/api/v1/namespaces/other/pods?watch=1"),
            await robot.get("/api/v1/namespaces/..%2fother/pods"),
            await robot.get("/api/v1/namespaces/default/pods/..%2f..%2fother%2fpods/log"),
            await robot.create("/api/v1/namespaces/other/serviceaccounts/default/token", {"spec": {}}),
            await robot.get("/api/v1/namespaces/default/secrets"),
            await robot.create("/api/v1/namespaces/default/pods", {**pod("b"), "metadata": {"name": "b", "namespace": "other"}}),
        ):
            assert answer.status in (400, 403, 404), answer
        await robot.close()


async def test_thousands_of_idle_watches_and_a_writer() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 2 * WATCHES + 200:
        pytest.skip("too few open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    line = f"GET {CONFIGMAPS}?watch=1&resourceVersion=1&fieldSelector=metadata.name=no-such HTTP/1.1\r\nHost: x\r\n"
    text = (line + f"Authorization: Bearer {ADMIN}\r\n\r\n").encode()
    async with place() as there:
        idle = []
        for _ in range(WATCHES // 250):
            idle += await asyncio.gather(*(there.opened(text) for _ in range(250)))
        # Each is open on the server's side.
        for reader, _ in idle:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        version = (await there.peer.get(CONFIGMAPS)).meta["resourceVersion"]
        events = there.peer.watch(f"{CONFIGMAPS}?watch=1&resourceVersion={version}")
        for number in range(20):
            assert (await there.peer.create(CONFIGMAPS, configmap(f"c{number}"))).status == 201
        assert len(await take(events, 20)) == 20
        for _, writer in idle:
            writer.close()

        async def still_served() -> bool:
            return (await there.peer.get("/api/v1/namespaces/default")).status == 200

        await until(still_served)


async def test_watches_that_never_read_are_given_up_and_others_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "STALLED_SECONDS", 0.2)
    asked = f"GET {CONFIGMAPS}?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\r\n".encode()
    async with place() as there:
        deaf = [await there.opened(asked) for _ in range(3)]
        for reader, _ in deaf:
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        for number in range(SENT):
            assert (await there.peer.create(CONFIGMAPS, configmap(f"c{number}", {"k": "x" * 1_000_000}))).status == 201

        async def given_up() -> bool:
            for _, writer in deaf:
                writer.write(b"\r\n")
            return all(writer.is_closing() for _, writer in deaf)

        await until(given_up, 60.0)
        monkeypatch.undo()
        events = await take(there.peer.watch(f"{CONFIGMAPS}?watch=1&resourceVersion=0"), SENT)
        assert {event["object"]["metadata"]["name"] for event in events} == {f"c{number}" for number in range(SENT)}


LISTED = 30_000
MOVES = [("data", "binaryData"), ("binaryData", "data")]


@pytest.mark.parametrize(
    ("path", "patch", "media"),
    [
        ("services/a", {"spec": {"ports": [{"port": n, "name": f"p{n}"} for n in range(LISTED)]}}, STRATEGIC),
        ("services/a", {"spec": {"$setElementOrder/ports": [{"port": n} for n in range(LISTED)]}}, STRATEGIC),
        ("configmaps/a", {"metadata": {"finalizers": [f"a/{n}" for n in range(LISTED)]}}, STRATEGIC),
        ("configmaps/a", {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"a/{n}" for n in range(LISTED)]}}, STRATEGIC),
        ("configmaps/a", {"metadata": {"finalizers": [f"a/{n}" for n in range(LISTED)]}}, MERGE),
        ("configmaps/a", [{"op": "move", "from": f"/{one}", "path": f"/{other}"} for one, other in MOVES * 2500], JSON_PATCH),
    ],
    ids=["ports", "order", "added", "deleted", "merged", "moved"],
)
async def test_long_patches_take_no_longer_than_they_are_long(path: str, patch: Any, media: str) -> None:
    """Where each element met each other, any of these took minutes."""
    async with place() as there:
        await there.peer.create("/api/v1/namespaces/default/services", {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})
        numbers = range(LISTED)
        many = {"metadata": {"name": "a", "finalizers": [f"a/x{n}" for n in numbers]}, "data": {f"k{n}": "" for n in numbers}}
        assert (await there.peer.create(CONFIGMAPS, many)).status == 201
        answer = await there.peer.patch(f"/api/v1/namespaces/default/{path}", patch, media)
        assert answer.status in (200, 422), answer


@pytest.mark.parametrize(
    "token", ['["",99999999999999999999,""]', '["x/1/u",0,"a"]', '["",-1,""]', "[null,1,2]", '{"a":1}', '["",5,"a"]', "["]
)
async def test_forged_continue_tokens_give_no_more_than_their_forger_may_see(token: str) -> None:
    async with place() as there:
        await there.peer.create(CONFIGMAPS, configmap("b"))
        forged = base64.urlsafe_b64encode(token.encode()).decode()
        answer = await there.peer.get(f"{CONFIGMAPS}?limit=1&continue={forged}")
        assert answer.status in (200, 400, 410)
        assert answer.status != 200 or [each["metadata"]["name"] for each in answer.body["items"]] in ([], ["b"])


@pytest.mark.parametrize("kind", ["pods", "services", "nodes", "namespaces", "resourcequotas", "persistentvolumeclaims"])
@pytest.mark.parametrize("status", [5, "x", [5], [{}]])
async def test_a_status_of_another_type_is_refused(kind: str, status: Any) -> None:
    async with place() as there:
        path = f"/api/v1/{kind}" if kind in ("nodes", "namespaces") else f"/api/v1/namespaces/default/{kind}"
        ports, claim = {"ports": [{"port": 80}]}, {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        spec = {"pods": pod("a")["spec"], "services": ports, "persistentvolumeclaims": claim}.get(kind, {})
        assert (await there.peer.create(path, {"metadata": {"name": "b"}, "spec": spec, "status": status})).status == 400
        assert (await there.peer.create(path, {"metadata": {"name": "a"}, "spec": spec})).status == 201
        assert (await there.peer.patch(f"{path}/a/status", {"status": status})).status in (400, 422)
