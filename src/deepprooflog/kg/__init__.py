"""Knowledge graphs: triples, rules, the embedding prior, and ranking."""
