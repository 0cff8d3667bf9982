from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.control_plane import ControlPlane
from tests.testbed.operator import Operators, hollow_kubelet
from tests.testbed.place import Place

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def plane(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The shared control plane with the shipped manifest applied, and a kubelet without processes."""
    control_plane.kubectl("apply", "--filename", str(ROOT / "deploy" / "rayfleet.yaml"))
    # By name: other tests leave definitions on a shared plane that are never to be served.
    names = [f"customresourcedefinition/{plural}.ray.io" for plural in ("rayclusters", "rayjobs", "rayservices", "raycronjobs")]
    control_plane.kubectl("wait", "--for=condition=Established", *names)
    with hollow_kubelet(control_plane, tmp_path_factory.mktemp("kubelet")):
        yield control_plane


@pytest.fixture
def place(plane: ControlPlane) -> Iterator[Place]:
    made = Place(plane).make()
    yield made
    made.remove()


@pytest.fixture
def operators(plane: ControlPlane, tmp_path: Path) -> Iterator[Operators]:
    begun = Operators(plane, tmp_path)
    yield begun
    begun.stop()
