"""A measured value of many objects at one moment, as a kind tells it; the runtime puts it into Prometheus' words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Gauge(NamedTuple):
    """`samples` are (values of the labels in their order, the number); `form` is gauge, or counter for what only grows."""

    name: str
    told: str
    labels: tuple[str, ...]
    samples: Sequence[tuple[tuple[str, ...], float]]
    form: str = "gauge"
