"""Who sizes clusters: the loop that asks their heads, and the judge."""

from __future__ import annotations

from dataclasses import dataclass

from rayfleet.autoscaling.judge import Judge
from rayfleet.autoscaling.loop import Loop


@dataclass(frozen=True, slots=True)
class Scaler:
    loop: Loop
    judge: Judge
