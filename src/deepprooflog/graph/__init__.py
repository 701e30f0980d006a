"""Goal graphs: goals and edges as arrays, explored from the step, and the order to solve them in."""
