"""The stages of a plan: each is a function that adds nodes to a PlanBuilder."""
