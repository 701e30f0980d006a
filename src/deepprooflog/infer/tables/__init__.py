"""Tabling by atom: productions, and the polynomial systems they make."""
