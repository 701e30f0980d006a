"""Inference on goal graphs: exact, tabled, bounded, best proof, sampled."""
