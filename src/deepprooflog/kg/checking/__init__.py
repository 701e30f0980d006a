"""What is odd about a graph's triples, counted, before anything is trained on them."""
