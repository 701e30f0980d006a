"""Cyclic goal graphs: linear systems without a subtraction, in a wide range."""
