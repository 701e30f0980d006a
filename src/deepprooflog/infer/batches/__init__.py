"""Batches of queries: log p of many at once, in the cheapest form each allows."""
