"""Sweeps over weighed layers: success, entropy, best derivations."""
