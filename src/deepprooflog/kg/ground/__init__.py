"""Ground rules: a backward-chaining grounder, and systems that reason over its groundings."""
