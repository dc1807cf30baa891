"""Numbers as people write them: parsed from text, written with some digits, combined to lines of arithmetic."""
