"""The stages of a plan: each adds its nodes to those that are there."""
