"""Proofs as text, JSON, HTML, SVG, LaTeX and Mermaid."""
