"""A kernel that is tried: the inputs, how it is called, what it gave, and the smallest input on which it fails."""
