"""What a text tells: which calls reach what, which clauses exclude each other."""
