"""Weights and numbers learned from a target."""
