"""Which images the local environment is not."""

from __future__ import annotations

from typing import Any

import pytest

from rayfleet.kubelet.image import mismatch


@pytest.mark.parametrize(
    ("container", "told"),
    [
        ({"image": "rayproject/ray:2.60.0"}, False),
        ({"image": "rayproject/ray:2.60.0-py311-cpu"}, False),
        ({"image": "rayproject/ray-ml:2.9.3"}, True),
        ({"image": "registry.example.com:5000/x/ray:2.46.0"}, True),
        ({"image": "rayproject/ray:latest"}, False),
        ({"image": "example.com/grayscale:1.2.3"}, False),
        ({"image": "mine", "env": [{"name": "RAY_VERSION", "value": "2.9.0"}]}, True),
        ({"image": "mine", "env": [{"name": "RAY_VERSION", "value": "2.60.0"}]}, False),
    ],
)
def test_another_version_is_told(container: dict[str, Any], told: bool) -> None:
    assert bool(mismatch({"containers": [container]}, "2.60.0")) is told
