"""Goal graphs: goals and edges as arrays, explored from the step, and an order to solve them."""
