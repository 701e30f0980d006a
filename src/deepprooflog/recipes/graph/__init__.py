"""Knowledge-graph completion."""
