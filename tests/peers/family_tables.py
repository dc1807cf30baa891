"""The tables of families: decoders, encoders, encoder-decoders, vision, audio, and models that are made of others."""

from tests.peers import (
    audio_families,
    backbone_families,
    encoder_families,
    heard_families,
    image_chat_families,
    image_families,
    image_language_families,
    image_text_families,
    latent_families,
    multimodal_families,
    relative_families,
    seen_families,
    series_families,
    sound_families,
    spoken_families,
    staged_families,
    vision_families,
    well_known_families,
    wrapping_families,
)
from tests.peers.decoder_families import DECODERS

# All but decoders and the well-known ones.
TABLES = (
    encoder_families,
    vision_families,
    audio_families,
    multimodal_families,
    image_text_families,
    image_language_families,
    image_chat_families,
    image_families,
    series_families,
    sound_families,
    spoken_families,
    staged_families,
    backbone_families,
    wrapping_families,
    latent_families,
    heard_families,
    seen_families,
    relative_families,
)
ROWS = [*DECODERS, *(row for table in (well_known_families, *TABLES) for row in table.FAMILIES)]
