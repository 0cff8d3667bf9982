"""Which environment stands for an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayfleet.kubelet.images import MADE, Images, NotReady, NotToBeHad, Order, Orders, Rule, Rules, mismatch


@pytest.mark.parametrize(
    ("container", "told"),
    [
        ({"image": "rayproject/ray:2.60.0"}, False),
        ({"image": "rayproject/ray:2.60.0-py311-cpu"}, False),
        ({"image": "rayproject/ray:2.60.0-py39-cpu"}, True),
        ({"image": "rayproject/ray:nightly-extra-py312-cu121"}, True),
        ({"image": "example.com/array:2-py39"}, False),
        ({"image": "rayproject/ray-ml:2.9.3"}, True),
        ({"image": "registry.example.com:5000/x/ray:2.46.0"}, True),
        ({"image": "rayproject/ray:latest"}, False),
        ({"image": "example.com/grayscale:1.2.3"}, False),
        ({"image": "mine", "env": [{"name": "RAY_VERSION", "value": "2.9.0"}]}, True),
        ({"image": "mine", "env": [{"name": "RAY_VERSION", "value": "2.60.0"}]}, False),
    ],
)
def test_another_version_is_told(container: dict[str, Any], told: bool) -> None:
    assert bool(mismatch(container, "2.60.0", "3.11")) is told


@pytest.mark.parametrize(
    ("image", "stated", "words"),
    [
        ("mine", "2.9.0", "spec.rayVersion: 2.9.0 asks for Ray 2.9.0; Ray 2.60.0 stands for it"),
        ("rayproject/ray:2.60.0", "2.9.0", ""),
        ("mine", "2.60.0", ""),
    ],
)
def test_what_the_cluster_states_counts_where_the_image_says_nothing(image: str, stated: str, words: str) -> None:
    assert mismatch({"image": image}, "2.60.0", "3.11", stated).partition(" (")[0] == words


def images(tmp_path: Path, *rules: Rule) -> Images:
    orders = Orders(tmp_path)
    orders.rules.write_bytes(msgspec.json.encode(Rules(str(tmp_path / "made"), rules)))
    return Images(tmp_path / "default", tmp_path)


def ordered(tmp_path: Path) -> Order:
    (path,) = tmp_path.glob("*.order")
    return msgspec.json.decode(path.read_bytes(), type=Order)


def test_an_image_without_a_rule_is_the_default_environment(tmp_path: Path) -> None:
    assert Images(tmp_path / "default").environment("rayproject/ray:2.9.3") == tmp_path / "default"
    assert images(tmp_path, Rule("rayproject/ray:2.9*", requirements=("auto",))).environment("busybox:1") == tmp_path / "default"


def test_the_first_rule_that_fits_counts(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").touch()
    found = images(tmp_path, Rule("mine:1", directory=str(tmp_path / "one")), Rule("mine:*", directory=str(tmp_path / "two")))
    assert found.environment("mine:1") == tmp_path / "one"
    assert found.environment("mine:2") == tmp_path / "two"


def test_a_directory_without_a_python_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotToBeHad, match=r"/nowhere, which stands for image mine:1, is no Python environment"):
        images(tmp_path, Rule("mine:*", directory="/nowhere")).environment("mine:1")


def test_an_environment_is_ordered_once_and_waited_for(tmp_path: Path) -> None:
    found = images(tmp_path, Rule("*/ray:2.9*", requirements=("auto", "numpy<2")))
    with pytest.raises(NotReady, match=r"^ray\[default,serve\]==2.9.3 numpy<2 is being installed$"):
        found.environment("rayproject/ray:2.9.3-py311")
    order = ordered(tmp_path)
    assert order.requirements == ("ray[default,serve]==2.9.3", "numpy<2")
    Orders(tmp_path).progress(Path(order.directory).name).write_text("Collecting numpy")
    with pytest.raises(NotReady, match=r"is being installed: Collecting numpy"):
        found.environment("rayproject/ray:2.9.3-py311")
    Path(order.directory).mkdir(parents=True)
    (Path(order.directory) / MADE).touch()
    assert found.environment("rayproject/ray:2.9.3-py311") == Path(order.directory)


def test_a_failure_is_told_and_the_next_look_orders_again(tmp_path: Path) -> None:
    found = images(tmp_path, Rule("mine:*", requirements=("nonsense==0",)))
    with pytest.raises(NotReady):
        found.environment("mine:1")
    key = Path(ordered(tmp_path).directory).name
    Orders(tmp_path).order(key).unlink()
    Orders(tmp_path).failure(key).write_text("No matching distribution")
    with pytest.raises(NotToBeHad, match=r"nonsense==0, for image mine:1: No matching distribution"):
        found.environment("mine:1")
    with pytest.raises(NotReady):
        found.environment("mine:1")


def test_auto_needs_a_version_in_the_tag(tmp_path: Path) -> None:
    with pytest.raises(NotToBeHad, match=r'names no version of Ray; write what to install in place of "auto"'):
        images(tmp_path, Rule("*", requirements=("auto",))).environment("rayproject/ray:nightly")
