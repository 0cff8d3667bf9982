"""Control planes for a test session: one that all share, and as many more as are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from testbed.build import binary
from testbed.control_plane import ControlPlane

NewControlPlane = Callable[..., ControlPlane]


@pytest.fixture(scope="session")
def new_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewControlPlane]:
    """Starts one, with what `ControlPlane` takes; all are stopped when the session ends."""
    if not binary().exists():
        pytest.skip("the Kubernetes control plane is not built; build it with: make testbed")
    begun: list[ControlPlane] = []

    def start(**more: object) -> ControlPlane:
        begun.append(ControlPlane(tmp_path_factory.mktemp("plane"), **more))  # type: ignore[arg-type]
        return begun[-1].start()

    yield start
    for plane in begun:
        plane.stop()


@pytest.fixture(scope="session")
def control_plane(new_control_plane: NewControlPlane) -> ControlPlane:
    """The one that is shared: keep to namespaces of your own, and mend what you break."""
    return new_control_plane()
