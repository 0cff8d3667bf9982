"""Logging in to a real API server, which looks at a certificate's dates at each request, not only when a connection is made."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from rayfleet.api.meta import PODS
from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from rayfleet.kube.errors import Forbidden, Unauthorized
from testbed.control_plane import ControlPlane

pytestmark = pytest.mark.testbed
LIFE = 8.0  # seconds


async def test_a_certificate_that_expires_on_a_living_connection_is_replaced_by_the_renewed_one(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    issued = time.monotonic()
    certificate, key = control_plane.credentials.issue("short", "robot", group="system:masters", hours=LIFE / 3600)
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    kubeconfig = control_plane.credentials.kubeconfig("short", control_plane.url, user)
    async with Client(load_kubeconfig(kubeconfig)) as client:
        await client.list(PODS, "default")
        await asyncio.sleep(issued + LIFE + 1.5 - time.monotonic())
        with pytest.raises(Unauthorized):
            await client.list(PODS, "default")
        control_plane.credentials.issue("short", "robot", group="system:masters")
        await client.list(PODS, "default")


async def test_who_is_known_but_has_no_rights_is_told_so_by_name(control_plane: ControlPlane) -> None:
    certificate, key = control_plane.credentials.issue("nobody", "nobody")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    kubeconfig = control_plane.credentials.kubeconfig("nobody", control_plane.url, user)
    async with Client(load_kubeconfig(kubeconfig)) as client:
        with pytest.raises(Forbidden, match='User "nobody" cannot list resource "pods"'):
            await client.list(PODS, "default")
