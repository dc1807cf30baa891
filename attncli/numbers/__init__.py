"""Numbers as people write them: read from text, written with some digits, and put together to lines of arithmetic."""
