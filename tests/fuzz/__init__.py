"""Attacks on the library's promises."""
