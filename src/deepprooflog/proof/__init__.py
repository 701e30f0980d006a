"""Proofs: the derivation behind an answer as a tree, its checking, its renderings."""

from __future__ import annotations

from deepprooflog.proof.tree import Node, Proof

__all__ = ["Node", "Proof"]
