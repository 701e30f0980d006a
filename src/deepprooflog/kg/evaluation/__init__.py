"""Figures of a prover: test triples ranked among their candidates."""
