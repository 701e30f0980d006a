"""Recipes: experiments that can be repeated by name, with their settings and expected results."""
