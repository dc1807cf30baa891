"""The tables of encoders, encoder-decoders, vision, audio and models that are made of others: all but decoders."""

from tests.peers import (
    audio_families,
    encoder_families,
    image_families,
    image_language_families,
    image_text_families,
    multimodal_families,
    sound_families,
    spoken_families,
    staged_families,
    vision_families,
    wrapping_families,
)

TABLES = (
    encoder_families,
    vision_families,
    audio_families,
    multimodal_families,
    image_text_families,
    image_language_families,
    image_families,
    sound_families,
    spoken_families,
    staged_families,
    wrapping_families,
)
