"""The problem: what is asked, its table of keys, and the one entrance that checks it."""
