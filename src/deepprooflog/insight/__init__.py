"""Looking into derivations: why a query failed, step by step, and the goal graph as a drawing."""
