"""Environments that stand for images: configured, ordered by the kubelet, made on the host's side, and run in."""

from __future__ import annotations

import asyncio
import contextlib
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from rayfleet.kubelet.images import MADE, Order, Orders, Rule
from rayfleet.local.configuration import Configuration, NotConfigured, load_configuration, write_configuration
from rayfleet.local.environments import make_environments, take
from rayfleet.local.state import State
from tests.kubelet.world import World, pod, until


@pytest.fixture
def wheel(tmp_path: Path) -> str:
    """A package of one module, made here: nothing is fetched."""
    path = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "WORD = 'from the environment'\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return str(path)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = State(tmp_path / "state")
    found.make()
    return found


@contextlib.asynccontextmanager
async def maker(state: State) -> AsyncIterator[None]:
    task = asyncio.create_task(make_environments(state))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.namespaces
async def test_a_container_waits_for_its_environment_and_runs_in_it(bare_world: World, state: State, wheel: str) -> None:
    world = bare_world
    write_configuration(state, Configuration((Rule("tiny:*", requirements=(wheel,)),)))
    world.settings = replace(world.settings, images=state.images)
    await world.start_kubelet()
    await world.apply(pod("python -c 'import tiny; print(tiny.WORD)'", image="tiny:1", restartPolicy="Never"))

    async def waits() -> bool:
        waiting = (await world.container()).get("state", {}).get("waiting", {})
        return waiting.get("reason") == "ContainerCreating" and "is being installed" in waiting.get("message", "")

    await until("the container waits", waits)
    async with maker(state):
        await until("the Pod has ended", lambda: ended(world), patience=240.0)
    assert await world.log() == "from the environment\n"
    assert len(await world.events("Pulling")) == 1


async def ended(world: World) -> bool:
    return (await world.status()).get("phase") == "Succeeded"


async def test_what_cannot_be_installed_is_told_and_leaves_nothing(state: State, tmp_path: Path) -> None:
    orders = Orders(state.images)
    order = Order((str(tmp_path / "missing.whl"),), str(tmp_path / "cache" / "k"))
    orders.order("k").write_bytes(msgspec.json.encode(order))
    await take(orders, "k", order)
    assert "missing.whl" in orders.failure("k").read_text()
    assert list((tmp_path / "cache").iterdir()) == [tmp_path / "cache" / "k.lock"]
    assert {path.name for path in state.images.iterdir()} == {"k.failure"}


async def test_an_environment_that_another_fleet_made_is_not_made_again(state: State, tmp_path: Path) -> None:
    made = tmp_path / "cache" / "k"
    made.mkdir(parents=True)
    (made / MADE).touch()
    await take(Orders(state.images), "k", Order(("nonsense==0",), str(made)))
    assert not Orders(state.images).failure("k").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("images: [a]", "must be a map"),
        ("pods: 1", "the fields are images, a map"),
        ("hostPaths: /data", "hostPaths: must be a list"),
        ("egressPorts: [80, 8080]", "egressPorts: must be a list of the ports"),
        ("egressPorts: ['80']", "egressPorts: must be"),
        ("hostPaths: [data]", "hostPaths: must be a list"),
        ("overcommit: 2", "overcommit must be a map"),
        ("overcommit: {cpu: 0}", r"overcommit\['cpu'\]: 0 is not a number above 0"),
        ("overcommit: {pods: 2}", r"overcommit\['pods'\]"),
        ("devices: {nvidia.com/gpu: many}", r"devices\['nvidia.com/gpu'\]: 'many' is no quantity"),
        ("devices: {gpu: 1}", r"a device's name has a domain"),
        ("images: {a: 1}", r"images\['a'\]: 1 is not a directory"),
        ("images: {a: []}", r"images\['a'\]: \[\] is not a directory"),
        ("images: {a: --index-url=x}", r"images\['a'\]: '--index-url=x' is not"),
        ("images: {a: [b, 2]}", r"is not a directory, .auto., a requirement"),
        ("images: {", "local.yaml: "),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "local.yaml").write_text(text)
    with pytest.raises(NotConfigured, match=said):
        load_configuration(tmp_path / "local.yaml")


def test_the_file_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "local.yaml").write_text('images:\n  "rayproject/ray:2.9*": auto\n  "mine:*": /srv/env\n  other: [ray==2.40.0, numpy]\n')
    assert load_configuration(tmp_path / "local.yaml").rules == (
        Rule("rayproject/ray:2.9*", requirements=("auto",)),
        Rule("mine:*", directory="/srv/env"),
        Rule("other", requirements=("ray==2.40.0", "numpy")),
    )
    (tmp_path / "local.yaml").write_text("overcommit: {memory: 2}\ndevices: {nvidia.com/gpu: 4}\n")
    found = load_configuration(tmp_path / "local.yaml")
    assert (found.overcommit, found.devices) == ({"cpu": 10.0, "memory": 2.0}, {"nvidia.com/gpu": "4"})
    assert load_configuration(tmp_path / "none.yaml") == Configuration()
    with pytest.raises(NotConfigured, match=r"none\.yaml"):
        load_configuration(tmp_path / "none.yaml", must_exist=True)
