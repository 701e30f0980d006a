"""Readings of rules: how the rules that back a triple are put together into its score."""
