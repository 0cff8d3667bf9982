"""Kubernetes' quantities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayfleet.api.quantity import ZERO, parse


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1k"),
        ("100k", "100k"),
        ("2048Mi", "2Gi"),
        ("0", "0"),
        ("128974848", "128974848"),
        (3, "3"),
    ],
)
def test_a_quantity_is_printed_as_the_api_server_does(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@pytest.mark.parametrize("text", ["", "one", "1GiB", "1 Gi", "--1", "0x10", "1e", "Gi"])
def test_what_is_no_quantity_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        parse(text)


@given(st.integers(0, 10**15), st.sampled_from(["", "m", "k", "Mi", "Gi"]))
def test_printing_keeps_the_amount(number: int, unit: str) -> None:
    quantity = parse(f"{number}{unit}")
    assert parse(str(quantity)).amount == quantity.amount


def test_a_sum_keeps_the_form_of_what_was_added() -> None:
    assert str(ZERO + parse("2Gi") + parse("512Mi")) == "2560Mi"
