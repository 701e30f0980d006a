"""One hop of all walks: sums over edges, and their gradients, on a CPU and on a GPU."""
