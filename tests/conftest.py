"""Fixtures that tests of several directories share."""

from __future__ import annotations

from hypothesis import settings

from tests.local.ray import ray_fleet
from tests.testbed.planes import control_plane, new_control_plane

__all__ = ["control_plane", "new_control_plane", "ray_fleet"]

settings.register_profile("patient", deadline=None)  # a machine that has other things to do breaks no property
settings.load_profile("patient")
