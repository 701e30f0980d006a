"""Triples, rules and domains: reading them, and keeping them with a run."""
