"""Provers of triples: made from a graph and rules, asked for answers with proofs."""
