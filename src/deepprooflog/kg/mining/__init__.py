"""Mining rules from triples: paths that connect facts, constants that go together, exact counts."""
