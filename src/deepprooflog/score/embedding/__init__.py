"""The embedding scorer: terms, atoms and goals as vectors, a softmax over successors."""
