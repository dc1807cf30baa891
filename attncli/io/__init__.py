"""From what people write to a Problem, and from a Problem to what they read again."""
