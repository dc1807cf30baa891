"""Checkpoints: the attention of a layer of a Hugging Face model's folder, as a problem file."""
