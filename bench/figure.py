"""One measured figure beside its bound, as a line of a table."""

from __future__ import annotations


def show(name: str, value: float, bound: float, unit: str) -> None:
    """Print the figure, its bound (0: none) and how much of the bound it takes."""
    share = f"{100 * value / bound:5.0f} % of {bound:g} {unit}" if bound else ""
    print(f"  {name:62} {value:10.2f} {unit:4} {share}", flush=True)
