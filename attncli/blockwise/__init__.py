"""The same stages, some queries (and keys, where the normalizer can merge) at a time, on all cores."""
