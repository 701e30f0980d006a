"""Transition models p(G'|G): labels, networks on terms, embeddings of whole goals."""
