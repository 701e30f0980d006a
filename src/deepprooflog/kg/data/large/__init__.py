"""Names and triples of large graphs as plain arrays."""
