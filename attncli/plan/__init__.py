"""Plans: from a problem to a graph of named nodes, without reading numbers."""
