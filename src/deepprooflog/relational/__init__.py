"""The batched engine for function-free programs: goals, rules and facts as integer tensors."""
