"""Walks: proofs of r(X, Y) that go from X to Y fact by fact, all tails of a query at once."""
