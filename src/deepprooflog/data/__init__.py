"""Data sets: where they are found, where they come from, how their files are read."""
