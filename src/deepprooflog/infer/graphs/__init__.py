"""Goal graphs solved: in any semiring one by one, in log space, as batches of tensors."""
