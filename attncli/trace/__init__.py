"""The trace: the steps of a computation in order, and what is worth a warning in them."""
