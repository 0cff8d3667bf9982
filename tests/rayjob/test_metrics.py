"""What KubeRay's boards read of RayJobs: under its names, from the objects as they are."""

from __future__ import annotations

import msgspec
import pytest

from rayfleet.api.decode import decode_job
from rayfleet.rayjob.metrics import measure
from rayfleet.runtime.metrics import Metrics
from rayfleet.sim.job_life import KEY, UID, Life
from tests.rayjob.test_modes import run

LABELS = f'name="{KEY.name}",namespace="{KEY.namespace}",uid="{UID}"'


def text(*objects: object) -> list[str]:
    metrics = Metrics()
    metrics.measure(measure, objects)
    return [line for line in metrics.text().decode().splitlines() if line.startswith("kuberay_")]


def of(life: Life) -> list[str]:
    return text(decode_job(msgspec.json.encode(life.job)))


def test_a_job_that_runs_has_a_state_and_no_duration() -> None:
    info, state = of(run(submissionMode="HTTPMode"))
    assert info == f"kuberay_job_info{{{LABELS}}} 1.0"
    assert state == f'kuberay_job_deployment_status{{{LABELS},deployment_status="Running"}} 1.0'


@pytest.mark.parametrize(("word", "state"), [("SUCCEEDED", "Complete"), ("FAILED", "Failed")])
def test_the_last_try_has_its_duration_and_the_number_of_those_before(word: str, state: str) -> None:
    life = run(submissionMode="HTTPMode", backoffLimit=1)
    life.ray.turn("FAILED")
    life.live(1)
    assert f'job_deployment_status="Retrying",retry_count="0"}} {life.now - 1_800_000_000 - 1:.1f}' in of(life)[2]
    life.live(20)
    life.ray.turn(word)
    life.live(5)
    duration = of(life)[2]
    assert duration.startswith(f'kuberay_job_execution_duration_seconds{{{LABELS},job_deployment_status="{state}",retry_count="1"}} ')
    assert 0 < float(duration.split()[-1]) < 30


def test_a_job_that_cannot_be_read_is_told_of_all_the_same() -> None:
    broken = decode_job(b'{"metadata":{"name":"x","namespace":"n","uid":"u"},"spec":{"suspend":3}}')
    assert text(broken) == ['kuberay_job_info{name="x",namespace="n",uid="u"} 1.0']
