"""Writers: problems as text, arrays as files, each file written atomically."""
