"""Converting values of Python to what a problem holds: arrays, operators, numbers, labels."""
