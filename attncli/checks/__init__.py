"""Check: is what is expected of a problem right, and where does it first go wrong."""
