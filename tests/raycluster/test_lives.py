"""How often the Pod of each slot may have gone, as it stands on the owner."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rayfleet.raycluster.lives import Lives, parse_lives

COUNTS = st.dictionaries(st.tuples(st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True), st.integers(0, 50)), st.integers(1, 5))


@given(COUNTS)
def test_what_is_written_is_read_again(counts: dict[tuple[str, int], int]) -> None:
    assert parse_lives(str(Lives(counts))) == Lives(counts)


@given(st.text())
def test_what_somebody_spoiled_is_read_without_harm(text: str) -> None:
    parse_lives(text)


def test_neighbours_are_written_together() -> None:
    counts = {("small", replica): 1 for replica in range(500)} | {("small", 512): 3, ("headgroup", 0): 1}
    assert str(Lives(counts)) == "headgroup:0=1;small:0-499=1,512=3"


def test_a_raise_leaves_the_others_as_they_are() -> None:
    lives = parse_lives("small:0-1=1").raised("small", 1)
    assert (lives.of("small", 0), lives.of("small", 1), lives.of("small", 2)) == (1, 2, 0)
