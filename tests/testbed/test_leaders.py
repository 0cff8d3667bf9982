"""Several operators on one API server: one writes, the others wait, and what a crash leaves behind is taken over as it is."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime

import pytest

from testbed.audit import Asked, counted
from tests.local.waiting import eventually
from tests.testbed.operator import LEASE, Operators
from tests.testbed.place import Place

pytestmark = pytest.mark.testbed

LEASE_DURATION = 15.0
TAKEN_OVER = LEASE_DURATION + 10.0
STOPPED = 20.0  # longer than the lease lasts
ON_THE_WIRE = 4  # requests: the API server counts one from its first byte, and answers it after its last


def names(place: Place) -> set[str]:
    return {pod["metadata"]["name"] for pod in place.list("pods", "ray.io/node-type")}


def test_a_second_replica_waits_ready_and_takes_over_when_the_first_is_killed(operators: Operators, place: Place) -> None:
    first = operators.start()
    eventually(lambda: first.leads)
    second = operators.start()
    place.make_cluster(workers=1)
    place.await_ready(workers=1)
    before = names(place)
    assert (first.leads, second.leads) == (True, False)
    first.process.kill()
    settled = len(operators.writes(place.name))
    eventually(lambda: second.leads, TAKEN_OVER)
    place.scale(2)
    place.await_ready(workers=2)
    assert before < names(place), "what was there is kept"
    written = counted(operators.writes(place.name)[settled:])
    assert (written["create pods"], written["delete pods"], written["create services"]) == (1, 0, 0)


def test_a_leader_that_is_told_to_stop_hands_over_at_once(operators: Operators, place: Place) -> None:
    first = operators.start()
    eventually(lambda: first.leads)
    second = operators.start()
    assert first.process.stop() == 0
    spec = place.plane.request("GET", LEASE)[1]["spec"]
    assert second.leads or not spec["holderIdentity"], "nobody has to wait until it runs out"
    eventually(lambda: second.leads)
    place.make_cluster(workers=0)
    place.await_ready(workers=0)


def test_two_that_both_believe_to_lead_make_nothing_twice(operators: Operators, place: Place) -> None:
    """Names are fences: without any lease two operators see the same cluster at the same moment, and there is one Pod of each name."""
    both = [operators.start("--no-leader-election"), operators.start("--no-leader-election")]
    for number in range(5):
        place.make_cluster(f"twin-{number}", workers=3)
    for number in range(5):
        place.await_ready(workers=3, name=f"twin-{number}")
    assert len(place.pods()) == 5 * 4
    assert len(place.list("services")) == 5
    created = [
        request for request in operators.writes(place.name) if (request.verb, request.resource, request.code) == ("create", "pods", 201)
    ]
    assert len(created) == 5 * 4
    for one in both:
        assert one.said("broken") == []
        assert one.said("error") == []


def test_a_restart_adopts_what_it_finds_and_writes_nothing(operators: Operators, place: Place) -> None:
    first = operators.start()
    place.make_cluster(workers=2)
    place.await_ready(workers=2)
    before = names(place)
    settled = operators.settle(place.name)
    first.process.kill()
    place.plane.request("DELETE", LEASE)
    second = operators.start()
    eventually(lambda: "RayCluster is being looked after" in second.said())
    place.make_cluster("later", workers=0)
    place.await_ready(workers=0, name="later")
    assert before < names(place)
    written = [request for request in operators.writes(place.name)[settled:] if request.resource != "events.k8s.io/events"]
    made = [request for request in written if request.verb == "create"]  # whose names are in their bodies
    assert counted(made) == {"create pods": 1, "create services": 1}, "the head and its Service of the later one"
    assert [str(request) for request in written if request.verb != "create" and request.name != "later"] == []


def test_a_killed_operator_in_the_middle_of_a_roll_out_is_continued_without_doubles(operators: Operators, place: Place) -> None:
    first = operators.start()
    eventually(lambda: first.leads)
    for number in range(10):
        place.make_cluster(f"many-{number}", workers=3)
    eventually(lambda: len(names(place)) >= 5)
    first.process.kill()
    place.plane.request("DELETE", LEASE)
    operators.start()
    for number in range(10):
        place.await_ready(workers=3, name=f"many-{number}")
    assert len(place.pods()) == 10 * 4


def test_who_slept_beyond_his_lease_in_the_middle_of_his_writes_sends_none_of_them_when_he_wakes(
    operators: Operators, place: Place
) -> None:
    """The right to write ends by the process' own clock: a leader that was stopped need not be told that another has taken over."""
    for number in range(30):
        place.make_cluster(f"load-{number}", workers=3)
    sleeper = operators.start(wait=False)
    eventually(lambda: len(place.list("services")) > 3)
    sleeper.process.signal(signal.SIGSTOP)
    began = time.monotonic()
    assert len(names(place)) < 30 * 4, "it was stopped too late to be of use"
    other = operators.start(kubeconfig=place.plane.kubeconfig("admin"))  # whose requests are not in the audit log
    eventually(lambda: other.leads, TAKEN_OVER)
    for number in range(30):
        place.await_ready(workers=3, name=f"load-{number}")
    eventually(lambda: time.monotonic() - began > STOPPED, STOPPED + 1)
    woken = datetime.now(UTC)
    sleeper.process.signal(signal.SIGCONT)
    eventually(lambda: any("leads no more" in text for text in sleeper.said()))
    for number in range(30):
        place.scale(2, f"load-{number}")
    for number in range(30):
        place.await_ready(workers=2, name=f"load-{number}")
    assert not sleeper.leads
    late = [request for request in operators.writes(place.name) if when(request) > woken]
    assert [str(request) for request in late if request.code < 400] == []
    assert len(late) <= ON_THE_WIRE, "half sent when it was stopped, they end when it wakes: and are refused, as their names are taken"


def when(request: Asked) -> datetime:
    return datetime.fromisoformat(request.at)


@pytest.mark.parametrize("hours", [-30, 30])
def test_an_operator_whose_clock_is_wrong_works_and_waits_its_turn(operators: Operators, place: Place, hours: int) -> None:
    """Leases are judged by how long they have not changed, never by the times that stand in them."""
    first = operators.start()
    eventually(lambda: first.leads)
    skewed = operators.start(skew=hours * 3600.0)
    place.make_cluster("before", workers=1)
    place.await_ready(workers=1, name="before")
    assert (first.leads, skewed.leads) == (True, False)
    assert first.process.stop() == 0
    eventually(lambda: skewed.leads, TAKEN_OVER)
    third = operators.start()
    place.make_cluster("after", workers=1)
    place.await_ready(workers=1, name="after")
    assert (skewed.leads, third.leads) == (True, False)
    assert len(place.pods()) == 4
    assert skewed.said("error") == skewed.said("broken") == []
