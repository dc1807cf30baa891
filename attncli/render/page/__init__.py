"""The page: a self-contained HTML document of a result, which shows its steps and computes them anew."""
