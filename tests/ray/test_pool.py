"""Who is asked, how often, and who is kept waiting by whom."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import pytest

from rayfleet.api.meta import Key
from rayfleet.permit import Shut, permitted
from rayfleet.ray import jobs, serve
from rayfleet.ray.answer import Accepted, Act, NotFound, Question, Refused, Target, Unreachable, taken
from rayfleet.ray.desk import Desk
from rayfleet.ray.lane import FIRST
from rayfleet.ray.pool import Pool
from rayfleet.ray.rhythm import LONGEST
from rayfleet.sim.clock import VirtualClock

RUNNING = b'{"status": "RUNNING", "submission_id": "a"}'
DONE = b'{"status": "SUCCEEDED", "submission_id": "a"}'


def target(name: str) -> Target:
    return Target(Key("default", name), f"{name}-head-svc")


class Rays:
    """Every head of the world: what each says, how long it takes, and what it was asked when."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.says: dict[str, tuple[int, bytes] | OSError] = {}
        self.takes: dict[str, float] = {}
        self.asked: list[tuple[float, str, str]] = []
        self.under_way: dict[str, int] = {}
        self.most = 0

    async def __call__(self, target: Target, call: Question | Act) -> tuple[int, bytes]:
        name = target.cluster.name
        self.asked.append((self.clock.elapsed, name, call.path))
        self.under_way[name] = self.under_way.get(name, 0) + 1
        assert self.under_way[name] == 1, "two calls to one cluster at once"
        self.most = max(self.most, sum(self.under_way.values()))
        try:
            await asyncio.sleep(self.takes.get(name, 0.01))
        finally:
            self.under_way[name] -= 1
        said = self.says.get(name, (200, RUNNING))
        if isinstance(said, OSError):
            raise said
        return said

    def times(self, name: str) -> list[float]:
        return [at for at, asked, _ in self.asked if asked == name]


class Scene:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.rays = Rays(self.clock)
        self.pool = Pool(self.rays, self.clock, room=8, dice=lambda: 0.5)
        self.desk: Desk = self.pool.desk()
        self.heard: list[Key] = []
        self.desk.subscribe(self.heard.append)

    def run(self, seconds: float) -> None:
        self.clock.run(seconds)

    def follow(self, name: str, *questions: Question) -> None:
        self.clock.loop.call_soon(lambda: self.desk.follow(Key("default", name), target(name), questions or (jobs.job("a"),)))


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.clock.close()


def last(scene: Scene, name: str, question: Question | None = None) -> object:
    question = question or jobs.job("a")
    return scene.desk.follow(Key("default", name), target(name), [question])[question].answer


def test_answers_that_do_not_change_are_asked_for_ever_less_often_and_told_of_once(scene: Scene) -> None:
    scene.follow("one")
    scene.run(120)
    times = scene.rays.times("one")
    pauses = [round(later - earlier, 6) for earlier, later in pairwise(times)]
    assert pauses[0] == pytest.approx(FIRST, abs=0.02) and pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(LONGEST, abs=0.02)
    assert len([at for at in times if at >= 60]) <= 6, "six calls a minute when steady"
    assert scene.heard == [Key("default", "one")]
    scene.rays.says["one"] = (200, DONE)
    scene.run(12)
    assert scene.heard == [Key("default", "one")] * 2
    assert last(scene, "one") == jobs.JobInfo("SUCCEEDED", "a")


def test_a_hundred_that_hang_delay_nobody_else(scene: Scene) -> None:
    scene.rays.says.update({f"hung-{number}": TimeoutError() for number in range(100)})
    scene.rays.takes.update({f"hung-{number}": 5.0 for number in range(100)})
    for number in range(100):
        scene.follow(f"hung-{number}")
    scene.run(300)
    scene.follow("new")
    scene.run(70)
    assert scene.rays.most <= 8
    assert len(scene.rays.times("new")) >= 1, "it waits for its turn and gets it"
    assert isinstance(last(scene, "hung-0"), Unreachable)
    assert scene.heard.count(Key("default", "hung-0")) == 1, "that it hangs is news once"


def test_who_hung_rests_and_leaves_half_of_the_room_to_those_who_answer(scene: Scene) -> None:
    hung = [f"hung-{number}" for number in range(40)]
    scene.rays.says.update(dict.fromkeys(hung, TimeoutError()))
    scene.rays.takes.update(dict.fromkeys(hung, 5.0))
    for name in hung:
        scene.follow(name, jobs.VERSION, jobs.job("a"))
    scene.run(120)
    begun = [scene.clock.elapsed + after for after in (0.0, 7.0, 13.0)]
    for number, _ in enumerate(begun):
        scene.follow(f"new-{number}")
        scene.run(begun[number + 1] - scene.clock.elapsed if number + 1 < len(begun) else 1.0)
    waits = [scene.rays.times(f"new-{number}")[0] - at for number, at in enumerate(begun)]
    assert max(waits) < 0.1, "forty that hang take half of the room, and no more"
    assert isinstance(last(scene, "hung-0"), Unreachable)
    scene.rays.says["hung-0"], scene.rays.takes["hung-0"] = (200, RUNNING), 0.01
    scene.run(60)
    assert last(scene, "hung-0") == jobs.JobInfo("RUNNING", "a"), "it is asked again"


def test_a_head_that_hangs_is_asked_one_thing_at_a_time(scene: Scene) -> None:
    scene.rays.says["one"], scene.rays.takes["one"] = TimeoutError(), 5.0
    scene.follow("one", jobs.VERSION, jobs.job("a"))
    scene.run(300)
    times = [at for at in scene.rays.times("one") if at > 100]
    assert min(later - earlier for earlier, later in pairwise(times)) == pytest.approx(5.0 + LONGEST, abs=0.1)
    assert {path for at, _, path in scene.rays.asked if at > 100} == {jobs.VERSION.path, jobs.job("a").path}


def test_what_stays_the_same_while_the_head_lives_is_asked_seldom_and_not_for_what_was_done(scene: Scene) -> None:
    scene.rays.says["one"] = (200, b'{"ray_version": "2.60.0", "status": "RUNNING"}')
    scene.follow("one", jobs.VERSION, jobs.job("a"))
    act = jobs.submit("a", "python x.py")
    scene.run(0.5)
    scene.clock.loop.call_soon(lambda: scene.desk.send(Key("default", "one"), target("one"), act, lambda complaint: None))
    scene.run(7)
    paths = [path for _, _, path in scene.rays.asked]
    assert paths.count(jobs.VERSION.path) == 1 and paths.count(jobs.job("a").path) > 3
    scene.rays.says["one"] = (500, b"no room")
    other = jobs.submit("b", "python x.py")
    scene.clock.loop.call_soon(lambda: scene.desk.send(Key("default", "one"), target("one"), other, lambda complaint: None))
    scene.run(0.5)
    assert [path for _, _, path in scene.rays.asked].count(jobs.VERSION.path) == 2, "who refuses may live another life"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ((404, b"no such job"), NotFound()),
        ((500, b"Traceback: boom"), Refused(500, "Traceback: boom")),
        ((200, b"<html>"), Unreachable("")),
        ((200, RUNNING[:20]), Unreachable("")),
        ((200, b'{"status": 5}'), Unreachable("")),
        (ConnectionRefusedError("refused"), Unreachable("")),
    ],
)
def test_whatever_it_says_is_an_observation(scene: Scene, said: tuple[int, bytes] | OSError, meant: object) -> None:
    scene.rays.says["one"] = said
    scene.follow("one")
    scene.run(3)
    assert last(scene, "one") == meant


def test_an_act_goes_before_questions_once_and_its_answer_is_kept(scene: Scene) -> None:
    key, act = Key("default", "one"), jobs.submit("a", "python x.py")
    scene.rays.takes["one"] = 0.5
    told: list[str] = []

    def send() -> None:
        scene.desk.follow(key, target("one"), [jobs.job("a")])
        for _ in range(3):
            scene.desk.send(key, target("one"), act, told.append)

    scene.clock.loop.call_soon(send)
    scene.run(3)
    paths = [path for _, _, path in scene.rays.asked]
    assert paths.count("/api/jobs/") == 1 and told == [""]
    assert paths.index("/api/jobs/") <= 1, "at most the question that was under way goes before it"
    assert scene.desk.results(key, target("one").cluster)[act].answer == Accepted(RUNNING)


def test_what_was_answered_while_it_was_decided_on_again_is_not_sent_twice(scene: Scene) -> None:
    """A look that began before the answer, and had to wait for its writes, asks for the same once more."""
    key, act = Key("default", "one"), serve.deploy({"applications": []})

    def send() -> None:
        scene.desk.send(key, target("one"), act, lambda complaint: None)

    def sent() -> int:
        return sum(path == act.path for _, _, path in scene.rays.asked)

    scene.follow("one", serve.details())
    scene.run(1)
    scene.clock.loop.call_soon(send)
    scene.run(1)
    scene.clock.loop.call_soon(send)
    scene.run(1)
    assert sent() == 1
    scene.follow("one", serve.details())
    scene.clock.loop.call_soon(send)
    scene.run(1)
    assert sent() == 2, "who has heard of the answer may want it again"


def test_a_job_that_was_submitted_before_is_submitted(scene: Scene) -> None:
    scene.rays.says["one"] = (500, b"ValueError: Job with submission_id a already exists")
    told: list[str] = []
    scene.clock.loop.call_soon(lambda: scene.desk.send(Key("default", "one"), target("one"), jobs.submit("a", "x"), told.append))
    scene.run(1)
    scene.rays.says["one"] = (500, b"no room")
    scene.clock.loop.call_soon(lambda: scene.desk.send(Key("default", "one"), target("one"), jobs.submit("b", "x"), told.append))
    scene.run(1)
    assert told == ["", "Ray answered 500: no room"]


def test_what_is_forgotten_is_asked_nothing_and_another_cluster_begins_anew(scene: Scene) -> None:
    scene.follow("one")
    scene.run(5)
    scene.clock.loop.call_soon(lambda: scene.desk.forget(Key("default", "one")))
    scene.run(1)
    before = len(scene.rays.asked)
    scene.run(60)
    assert len(scene.rays.asked) == before
    scene.follow("one")
    scene.run(1)
    moved = scene.desk.follow(Key("default", "one"), target("other"), [jobs.job("a")])
    assert moved == {}, "what another cluster said is no answer"


def test_an_object_may_be_about_two_clusters_and_each_answers_for_itself(scene: Scene) -> None:
    key, health = Key("default", "svc"), serve.health(8000)
    scene.rays.says = {"old": (200, b"success"), "new": (503, b"no routes yet")}

    def both() -> dict[str, object]:
        found = scene.desk.follow_all(key, [(target(name), [health]) for name in ("old", "new")])
        return {cluster.name: heard[health].answer for cluster, heard in found.items() if health in heard}

    scene.clock.loop.call_soon(both)
    scene.run(3)
    assert both() == {"old": b"success", "new": Refused(503, "no routes yet")}
    scene.desk.follow_all(key, [(target("new"), [health])])
    before = len(scene.rays.times("old"))
    scene.run(60)
    assert len(scene.rays.times("old")) == before, "a cluster that is no longer named is asked nothing"


def test_a_head_that_came_back_elsewhere_is_asked_at_once(scene: Scene) -> None:
    scene.follow("one")
    scene.run(100)
    moved = Target(target("one").cluster, "one-head-svc", "10.0.0.9")
    scene.clock.loop.call_soon(lambda: scene.desk.follow(Key("default", "one"), moved, [jobs.job("a")]))
    scene.run(0.5)
    assert scene.rays.times("one")[-1] >= 100


def test_what_a_head_said_is_no_answer_of_the_one_that_took_its_place(scene: Scene) -> None:
    """Also where it was asked before, and answers when there is another one."""
    key, health = Key("default", "one"), serve.health(8000)
    scene.rays.says["one"] = (200, b"success")
    scene.follow("one", health)
    scene.run(30)
    scene.rays.takes["one"] = 15.0
    scene.run(10)
    assert scene.rays.under_way["one"] == 1
    moved = Target(target("one").cluster, "one-head-svc", "10.0.0.9")
    heard: list[object] = []
    scene.clock.loop.call_soon(lambda: heard.append(scene.desk.follow(key, moved, [health])))
    scene.run(0.1)
    assert heard == [{}]
    scene.rays.says["one"] = (503, b"no routes yet")
    scene.run(14)
    assert scene.desk.follow(key, moved, [health]) == {}
    scene.run(20)
    assert scene.desk.follow(key, moved, [health])[health].answer == Refused(503, "no routes yet")


def test_what_was_heard_before_a_label_was_changed_is_no_answer_and_the_question_is_asked_anew(scene: Scene) -> None:
    key, name = Key("default", "one"), target("one")
    scene.rays.says["one"] = (503, b"no routes yet")
    scene.follow("one", serve.health(8000, "false"))
    scene.run(100)
    scene.rays.says["one"] = (200, b"success")
    heard: list[object] = []
    scene.clock.loop.call_soon(lambda: heard.append(scene.desk.follow(key, name, [serve.health(8000, "true")])))
    scene.run(0.5)
    assert heard == [{}] and scene.rays.times("one")[-1] >= 100
    assert scene.desk.last(key, name.cluster)[serve.health(8000, "true")].answer == b"success"


def test_the_rhythm_is_brisk_again_after_an_act(scene: Scene) -> None:
    scene.follow("one", serve.details())
    scene.rays.says["one"] = (200, b"{}")
    scene.run(100)
    act = serve.deploy({"applications": []})
    scene.clock.loop.call_soon(lambda: scene.desk.send(Key("default", "one"), target("one"), act, lambda complaint: None))
    scene.run(0.5)
    assert [path for at, _, path in scene.rays.asked if at >= 100] == [serve.PATH, serve.details().path]


def test_an_act_that_waited_is_not_sent_once_it_may_not_be(scene: Scene) -> None:
    """Its turn comes when the call before it has been answered, and by then another process leads; what is asked goes on."""
    leads, told = [True], []

    def permit() -> None:
        if not leads:
            raise Shut

    def send() -> None:
        with permitted(permit):
            scene.desk.send(Key("default", "one"), target("one"), serve.deploy({}), told.append)

    scene.rays.takes["one"] = 3.0
    scene.follow("one")
    scene.run(1.0)
    scene.clock.loop.call_soon(send)
    scene.run(1.0)
    leads.clear()
    scene.run(20.0)
    assert serve.PATH not in [path for _, _, path in scene.rays.asked] and told == []
    assert scene.rays.times("one")[-1] > 10.0


@pytest.mark.parametrize(
    ("content", "taken_over"),
    [
        (b"", True),
        (b'{"submission_id":"a"}', True),
        (b"<html>please log in</html>", False),
        (b'{"submission_id":', False),
        (b"\xff", False),
    ],
)
def test_only_ray_takes_an_act_over(content: bytes, taken_over: bool) -> None:
    """A proxy's page with a 200 is nobody's word (services storm 20987)."""
    assert isinstance(taken(serve.deploy({}), 200, content), Accepted if taken_over else Unreachable)


def test_what_ray_says_of_itself_is_read_as_far_as_it_is_needed() -> None:
    said = {
        "controller_info": {"node_id": "x"},
        "proxies": {"n": {"status": "HEALTHY", "node_ip": "10.0.0.1"}},
        "applications": {"app": {"status": "RUNNING", "deployed_app_config": {"name": "app"}, "deployments": {"D": {"status": "HEALTHY"}}}},
        "target_capacity": None,
    }
    found = msgspec.json.decode(msgspec.json.encode(said), type=serve.Details)
    assert found.applications["app"].deployments["D"].status == "HEALTHY"
    assert found.applications["app"].deployed_app_config == {"name": "app"}
