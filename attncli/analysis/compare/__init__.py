"""Variants of a problem side by side: what each computes, by how much they differ, and at which step they part."""
