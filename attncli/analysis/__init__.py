"""What traces say beside other numbers: comparisons with expected ones."""
