"""Particles: sampled derivations, sequential Monte Carlo and its gradient."""
