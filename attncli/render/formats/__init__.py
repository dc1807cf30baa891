"""Output formats: each turns a view of a result into text or bytes."""
