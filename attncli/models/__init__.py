"""Models: the attention of a layer of a Hugging Face checkpoint, as the keys of a problem."""
