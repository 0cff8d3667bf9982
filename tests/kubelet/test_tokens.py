"""When tokens are asked for again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rayfleet.kubelet.env import Source
from rayfleet.kubelet.status import time_text
from rayfleet.kubelet.tokens import renew_at, source

NOW = 1_800_000_000.0


def lasting(*seconds: float) -> dict[Source, Mapping[str, str] | None]:
    return {("token", str(number)): {"token": "t", "expires": time_text(NOW + one)} for number, one in enumerate(seconds)}


@pytest.mark.parametrize(("lives", "after"), [((3600,), 2880), ((3600, 600), 480), ((365 * 86400,), 86400), ((), None), ((-5,), -5)])
def test_the_first_that_runs_out_says_when(lives: tuple[float, ...], after: float | None) -> None:
    at = renew_at({("secret", "s"): {"k": "v"}, **lasting(*lives)}, NOW)
    assert at == (after if after is None else NOW + after)


def test_an_audience_and_a_life_are_asked_for_together() -> None:
    assert source({"audience": "vault", "expirationSeconds": 600}) == ("token", "600 vault")
    assert source({}) == ("token", "3600 ")
