"""Learning a policy over a graph: exactly, or by PPO."""
