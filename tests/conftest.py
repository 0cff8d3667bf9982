"""Fixtures that tests of several directories share."""

from __future__ import annotations

from tests.local.ray import ray_fleet
from tests.testbed.planes import control_plane, new_control_plane

__all__ = ["control_plane", "new_control_plane", "ray_fleet"]
