"""A backward-chaining grounder of rules over a graph."""
