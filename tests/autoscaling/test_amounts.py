"""Ray's floats become whole ten-thousandths, whatever Ray sends."""

from __future__ import annotations

import pytest

from rayfleet.autoscaling.amounts import LARGEST, resources, shown, total


@pytest.mark.parametrize(
    "value, kept",
    [(1.0, 10_000), (0.1 + 0.2, 3_000), (1e-5, None), (0.00005, 1), (0.0, None), (-1.0, None), (float("nan"), None), (float("-inf"), None)],
)
def test_amounts_are_rounded_to_the_nearest_ten_thousandth_and_nonsense_is_none(value: float, kept: int | None) -> None:
    assert resources({"CPU": value}) == (() if kept is None else (("CPU", kept),))


def test_an_infinite_amount_is_the_largest() -> None:
    assert resources({"CPU": float("inf"), "GPU": 1e300}) == (("CPU", LARGEST), ("GPU", LARGEST))


def test_the_order_of_names_does_not_matter() -> None:
    assert resources({"b": 1, "a": 2}) == resources({"a": 2, "b": 1})


def test_amounts_are_shown_as_people_write_them() -> None:
    assert shown(resources({"memory": 2e9, "CPU": 0.5, "GPU": 1.25, "x": 3})) == "{CPU: 0.5, GPU: 1.25, memory: 2000000000, x: 3}"


def test_bundles_of_one_node_are_added_up() -> None:
    assert total([resources({"CPU": 1}), resources({"CPU": 0.5, "GPU": 1})]) == resources({"CPU": 1.5, "GPU": 1})
