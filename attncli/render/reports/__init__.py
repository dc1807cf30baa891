"""Reports: views of more than one result, for a terminal."""
