"""Lines of logs, and texts of the API, as Ray 2.60 and Kubernetes print them."""

from __future__ import annotations

import pytest

from rayfleet.diagnosis.log_lines import MEANINGS, last_told, telling
from rayfleet.diagnosis.refusals import REFUSALS, meaning
from tests.cli.explain import ray_words

WORKER, HEAD = False, True
LOGS = [
    (ray_words.PORT_TAKEN, HEAD, "PortInUse", "Failed to start the grpc server. The specified port is 6379"),
    (ray_words.DASHBOARD_PORT_TAKEN, HEAD, "PortInUse", "Failed to bind to 0.0.0.0:8265"),
    (ray_words.WRONG_TOKEN, WORKER, "AuthMismatch", "InvalidAuthToken"),
    (ray_words.NO_TOKEN, HEAD, "AuthMismatch", "no authentication token was found"),
    (ray_words.UNREACHABLE, WORKER, "HeadUnreachable", "Timed out while waiting for GCS to become available"),
    (ray_words.NAME_UNKNOWN, WORKER, "NameUnknown", "Failed to resolve hostname"),
    (ray_words.OTHER_VERSION, WORKER, "VersionMismatch", "Ray: 2.59.0 Python: 3.11.7"),
    (ray_words.WAIT_OTHER_VERSION, WORKER, "VersionMismatch", "cluster has Ray version 2.60.0 but local Ray version is 2.59.0"),
    (ray_words.WAIT_NAME, WORKER, "NameUnknown", "125 s:"),
    (ray_words.WAIT_TIMEOUT, WORKER, "HeadUnreachable", "Connection timed out"),
    ("Error: No such option: --prot Did you mean --port?\n", HEAD, "BadStartCommand", "--prot"),
    ("2026 WARNING: redis 10.1.1.1:6379: Connection refused\n", HEAD, "RedisUnreachable", "10.1.1.1"),
    (ray_words.RAYLET_LOST, WORKER, "ProcessLost", "exited unexpectedly:"),
    ("30 s: the certificate does not name 10.0.0.7 yet; it names:\nDNS:one\n", WORKER, "Certificates", "10.0.0.7"),
    ("OSError: [Errno 98] Address already in use\n", HEAD, "PortInUse", "Errno 98"),
    ("ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed\n", WORKER, "Certificates", "verify"),
]


@pytest.mark.parametrize(("log", "head", "problem", "words"), LOGS, ids=[f"{problem}-{words[:12]}" for _, _, problem, words in LOGS])
def test_a_log_is_understood_by_its_most_telling_line(log: str, head: bool, problem: str, words: str) -> None:
    found = telling(last_told(log.splitlines()), head=head)
    assert found is not None
    assert found[0].problem == problem
    assert words in found[1]
    assert "\x1b" not in found[1]


def test_of_a_long_line_the_part_that_tells_is_shown() -> None:
    found = telling(
        [f"[gcs_server] {'Please report this issue. ' * 20}Failed to start the grpc server. The specified port is 6379"], head=True
    )
    assert found is not None
    assert found[1].startswith("... ") and found[1].endswith("The specified port is 6379")
    assert len(found[1]) < 200


def test_every_meaning_has_an_example_here() -> None:
    assert {meaning.problem for meaning in MEANINGS} == {problem for _, _, problem, _ in LOGS}


def test_a_head_that_waits_for_its_own_gcs_is_not_said_to_miss_a_head() -> None:
    found = telling(ray_words.UNREACHABLE.splitlines(), head=True)
    assert found is not None
    assert found[0].problem == ""


def test_of_an_unknown_log_the_likeliest_line_is_shown() -> None:
    found = telling(["starting", "ValueError: no such thing", "bye"])
    assert found is not None
    assert (found[0].problem, found[1]) == ("", "ValueError: no such thing")
    assert telling([]) is None
    assert telling(["", "  "]) is None


def test_what_hindered_a_waiting_worker_before_is_not_told_any_more() -> None:
    lines = [*ray_words.WAIT_NAME.splitlines(), *ray_words.WAIT_TIMEOUT.splitlines()]
    found = telling(last_told(lines))
    assert found is not None
    assert found[0].problem == "HeadUnreachable"


FORBIDDEN = 'pods "one-head-x7k2p" is forbidden: '
TEXTS = [
    (f"{FORBIDDEN}exceeded quota: team, requested: cpu=1, used: cpu=4, limited: cpu=4", "Quota", "team"),
    (f"{FORBIDDEN}failed quota: team: must specify limits.cpu for: ray", "Quota", "team"),
    ('admission webhook "a.example.com" denied the request: no', "WebhookDenied", "a.example.com"),
    ('Internal error occurred: failed calling webhook "a.example.com": connect: connection refused', "WebhookUnavailable", "a.example.com"),
    (f"{FORBIDDEN}ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", "PolicyDenied", "p"),
    (f'{FORBIDDEN}violates PodSecurity "restricted:latest": runAsNonRoot != true', "PodSecurity", "restricted:latest"),
    (f'{FORBIDDEN}error looking up service account default/sa: serviceaccount "sa" not found', "MissingServiceAccount", "sa"),
    (f"{FORBIDDEN}no PriorityClass with name high was found", "MissingPriorityClass", "high"),
    (
        f"{FORBIDDEN}unable to create new content in namespace team because it is being terminated",
        "NamespaceTerminating",
        "",
    ),
    (
        'pods is forbidden: User "system:serviceaccount:a:rayfleet" cannot create resource "pods" in API group "" in the namespace "team"',
        "OperatorRights",
        "system:serviceaccount:a:rayfleet",
    ),
    ("Pod is invalid: spec.containers[0].image: Required value", "Refused", ""),
]


@pytest.mark.parametrize(("text", "problem", "it"), TEXTS, ids=[text[-24:] for text, _, _ in TEXTS])
def test_a_refusal_is_understood(text: str, problem: str, it: str) -> None:
    found, about = meaning(text)
    assert (found.problem, about) == (problem, it)


def test_every_refusal_has_an_example_here() -> None:
    assert {refusal.problem for refusal in REFUSALS} == {problem for _, problem, _ in TEXTS} - {"Refused"}
