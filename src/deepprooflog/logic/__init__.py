"""Programs and resolution: unification, clauses, indexing, builtins, the plain solver, the step."""
