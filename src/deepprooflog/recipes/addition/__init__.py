"""Addition of numbers given as pictures."""
