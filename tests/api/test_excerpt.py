from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayfleet.api.excerpt import LIMIT, clip, tail


@pytest.mark.parametrize(
    ("text", "beginning", "end"),
    [
        ("a" * 1024, "a" * 1024, "a" * 1024),
        ("ж" * 512, "ж" * 512, "ж" * 512),
        ("a" + "b" * 1024, "a" + "b" * 1020 + "...", "..." + "b" * 1021),
        ("ж" * 513, "ж" * 510 + "...", "..." + "ж" * 510),
    ],
)
def test_what_is_too_long_in_bytes_is_cut_between_characters(text: str, beginning: str, end: str) -> None:
    assert (clip(text), tail(text)) == (beginning, end)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=200, max_size=1500))
def test_both_ends_fit_and_are_the_texts_own(text: str) -> None:
    beginning, end = clip(text), tail(text)
    assert max(len(beginning.encode()), len(end.encode())) <= LIMIT
    assert text.startswith(beginning.removesuffix("...")) and text.strip().endswith(end.removeprefix("..."))
