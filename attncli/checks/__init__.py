"""Check: are the expected numbers of a problem right, and which step differs first."""
