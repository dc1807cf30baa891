"""The stages of the pipeline: each takes a problem and adds its steps to what the recorder has."""
