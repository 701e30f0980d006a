"""What work may cost: budgets, the watchdog that holds them, room for what is built."""
