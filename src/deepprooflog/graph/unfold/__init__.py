"""Unfolding: queries as instances of templates that are resolved once."""
