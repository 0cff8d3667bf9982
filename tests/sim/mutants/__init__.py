"""Known faults of operators, put back into this one: each takes a monkeypatch and gives the planner to run.

Where a mutant can be made around the planner it is, so that it outlives a rewrite of what is inside.
"""

from __future__ import annotations

from tests.sim.mutants import life, names, owners, runtime, status, stores
from tests.sim.mutants.proof import Mutant, Proof

MUTANTS: dict[Mutant, Proof] = {**names.MUTANTS, **owners.MUTANTS, **life.MUTANTS, **status.MUTANTS, **runtime.MUTANTS, **stores.MUTANTS}
