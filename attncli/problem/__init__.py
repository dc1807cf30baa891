"""The problem: its fields, its data (ProblemSpec), and the builder that converts and checks values."""
