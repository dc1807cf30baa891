"""The trace: the steps of a computation in order, the result that selects among them, and warnings."""
