"""The decoders with latent attention that are compared: a row for each family, with its own peculiarities on."""

from collections.abc import Sequence

from tests.peers.decoder_families import BIASES, EXPERTS, YARN, rotating
from tests.peers.tiny_models import TinyModel

LATENT = {
    "q_lora_rank": 12,
    "kv_lora_rank": 10,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 5,
    "intermediate_size": 16,
    "first_k_dense_replace": 1,
    "n_group": 1,
    "topk_group": 1,
}
INDEXER = {"index_topk": 3, "index_head_dim": 8, "index_n_heads": 16}  # so many that no score is 0
NO_QUERY_LATENT = {**LATENT, "q_lora_rank": None}
SCALED = {"rope_parameters": YARN}

FAMILIES: Sequence[TinyModel] = [
    rotating("deepseek_v3", LATENT, EXPERTS, SCALED, BIASES),
    rotating("deepseek_v2", LATENT, EXPERTS, SCALED, BIASES),
    rotating("deepseek_v2", NO_QUERY_LATENT, EXPERTS, variant="lite"),
    rotating(
        "mistral4",
        LATENT,
        EXPERTS,
        {"rope_parameters": {**YARN, "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 4}},
        BIASES,
        model_class="Mistral4ForCausalLM",
    ),
    rotating("youtu", LATENT, SCALED),
    rotating("glm4_moe_lite", LATENT, EXPERTS, SCALED, BIASES),
    rotating("axk1", LATENT, EXPERTS, SCALED),
    rotating("minicpm3", LATENT),
    rotating("deepseek_v32", LATENT, INDEXER, EXPERTS, SCALED, BIASES),
    rotating("glm_moe_dsa", LATENT, INDEXER, EXPERTS, SCALED),
    rotating("deepseek_v3", NO_QUERY_LATENT, EXPERTS, {"rope_interleave": False}, variant="halves"),
]
