"""The most probable answers of open queries."""
