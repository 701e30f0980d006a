"""Knowledge-graph embeddings and their training."""
