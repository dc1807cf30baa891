"""Configurations as published models have them, in the old form and the new: what the file of a layer says of each."""

from pathlib import Path
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.models.checkpoint import Checkpoint
from attncli.models.layer import find_layer, find_part
from attncli.models.layer_file import entry_value

LINEAR = {"factor": 8.0, "rope_type": "linear"}
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_type": "llama3"}
LONGEST = {"max_position_embeddings": 131072}
LONG = {"type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [1.0, 4.0]}
GEMMA3 = {
    "model_type": "gemma3",
    "text_config": {"num_hidden_layers": 34, "hidden_size": 2560, "rope_scaling": LINEAR, "sliding_window": 1024},
}
MISTRAL = {
    "model_type": "mistral",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "rope_theta": 1e6,
}


def rope(**parameters: Any) -> dict[str, Any]:
    return {"position": {"rope": parameters}}


@pytest.mark.parametrize(
    ("config", "layer", "expected"),
    [
        pytest.param(
            {**GEMMA3["text_config"], "model_type": "gemma3_text"},
            0,
            {"heads": 8, "kv_heads": 4, "window": [1023, 0], "scale": 1 / 16, **rope(base=10000.0)},
            id="Gemma 3, a layer with a window",
        ),
        pytest.param(
            GEMMA3,
            5,
            {"heads": 8, "kv_heads": 4, "window": None, **rope(base=1e6, scaling={**LINEAR, **LONGEST})},
            id="Gemma 3 with its vision tower, a layer without",
        ),
        pytest.param(
            {"model_type": "gemma2", "num_hidden_layers": 26, "num_attention_heads": 8, "sliding_window": 4096},
            -1,
            {"window": None, "softcap": 50.0, "scale": 1 / 16, "kv_heads": 4},
            id="Gemma 2, the last layer",
        ),
        pytest.param(
            {**MISTRAL, "sliding_window": None}, 0, {"window": None, "kv_heads": 8, **rope(base=1e6)}, id="Mistral 0.3"
        ),
        pytest.param({**MISTRAL, "sliding_window": 4096}, 0, {"window": [4095, 0]}, id="Mistral 0.1"),
        pytest.param(
            {"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64, "rotary_pct": 0.25}
            | {"rotary_emb_base": 50000, "num_hidden_layers": 44},
            3,
            {"packing": "per_head", **rope(base=50000, dims=24)},
            id="GPT-NeoX 20B, with another base",
        ),
        pytest.param(
            {"model_type": "falcon", "n_layer": 60, "n_head": 128, "n_head_kv": 8, "hidden_size": 8192}
            | {"new_decoder_architecture": True},
            59,
            {"heads": 128, "kv_heads": 8, "packing": "per_group"},
            id="Falcon 40B, by its old names",
        ),
        pytest.param(
            {"model_type": "RefinedWeb", "n_layer": 60, "n_head": 128, "n_head_kv": 8, "hidden_size": 8192}
            | {"alibi": False, "bias": False, "parallel_attn": True},
            0,
            {"heads": 128, "kv_heads": 8, "packing": "per_group", **rope(base=10000.0)},
            id="Falcon 40B, as it was first published",
        ),
        pytest.param(
            {"model_type": "RefinedWebModel", "n_layer": 32, "n_head": 71, "hidden_size": 4544}
            | {"alibi": False, "bias": False, "parallel_attn": True, "multi_query": True},
            -1,
            {"heads": 71, "kv_heads": 1, "packing": "concatenated", **rope(base=10000.0)},
            id="Falcon 7B, as it was first published",
        ),
        pytest.param(
            {"model_type": "RefinedWebModel", "n_layer": 24, "n_head": 32, "hidden_size": 2048}
            | {"alibi": True, "bias": True, "parallel_attn": False, "multi_query": False},
            0,
            {"heads": 32, "kv_heads": 32, "packing": "per_head", "position": "alibi", "score": "dot"},
            id="Falcon RW 1B, as it was first published",
        ),
        pytest.param(
            {"model_type": "falcon"}, 0, {"heads": 71, "kv_heads": 1, "packing": "concatenated"}, id="Falcon 7B"
        ),
        pytest.param(
            {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8}
            | {"rope_theta": 5e5, "rope_scaling": {**LLAMA3, "original_max_position_embeddings": 8192}}
            | {"max_position_embeddings": 131072},
            31,
            rope(
                base=5e5,
                scaling={**LLAMA3, "original_max_position_embeddings": 8192, "max_position_embeddings": 131072},
            ),
            id="Llama 3.1",
        ),
        pytest.param(
            {"model_type": "phi3", "num_hidden_layers": 32, "num_attention_heads": 32, "rope_scaling": LONG}
            | {**LONGEST, "original_max_position_embeddings": 4096, "sliding_window": 262144},
            0,
            {
                "packing": "concatenated",
                "window": [262143, 0],
                **rope(
                    base=10000.0,
                    scaling={**LONG, **LONGEST, "original_max_position_embeddings": 4096},
                ),
            },
            id="Phi-3 mini 128k",
        ),
        pytest.param(
            {"model_type": "gpt_oss", "num_hidden_layers": 24}, 0, {"heads": 64, "window": [127, 0]}, id="gpt-oss, 0"
        ),
        pytest.param({"model_type": "gpt_oss", "num_hidden_layers": 24}, 1, {"window": None}, id="gpt-oss, 1"),
        pytest.param(
            {"model_type": "bloom", "n_layer": 70, "num_attention_heads": 112, "n_embed": 14336},
            69,
            {"heads": 112, "packing": "per_head", "position": "alibi"},
            id="BLOOM 176B, by its old names",
        ),
    ],
)
def test_the_configuration_of_a_published_model_is_read_as_the_model_is(
    config: dict[str, Any], layer: int, expected: dict[str, Any]
) -> None:
    checkpoint = Checkpoint(Path(), config, {}, Inputs())
    entries = find_layer(find_part(checkpoint, None), layer).entries(with_tensors=False)
    found = {key: entry_value(entries[key], Path()) if key in entries else None for key in expected}
    assert found == expected


OLDER_BERT = {"num_hidden_layers": 2, "num_attention_heads": 4, "position_embedding_type": "relative_key"}
MPT = {"model_type": "mpt", "n_layers": 2, "n_heads": 4}


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"model_type": "bert", **OLDER_BERT}, "vectors for distances"),
        ({"model_type": "xlm-roberta", **OLDER_BERT}, "vectors for distances"),
        ({"model_type": "albert", **OLDER_BERT}, "vectors for distances"),
        *(
            ({"model_type": name, "num_hidden_layers": 3, "is_causal": False}, "both sides")
            for name in ("llama4_text", "mimo_v2_flash", "modernbert-decoder", "recurrent_gemma")
        ),
        ({"model_type": "ibert", "num_hidden_layers": 2, "quant_mode": True}, "integers"),
        ({"model_type": "big_bird", "num_hidden_layers": 2}, "random blocks"),
        ({"model_type": "mvp", "encoder_layers": 2, "use_prompt": True}, "learned prompts"),
        ({**MPT, "attn_config": {"alibi": False}}, "without ALiBi"),
        ({**MPT, "attn_config": {"qk_ln": True}}, "qk_ln"),
        ({**MPT, "attn_config": {"prefix_lm": True}}, "prefix_lm"),
        ({**MPT, "attn_config": {"attn_type": "multiquery_attention"}}, "multiquery_attention"),
    ],
)
def test_what_no_key_says_is_refused_by_its_name(config: dict[str, Any], what: str) -> None:
    checkpoint = Checkpoint(Path(), config, {}, Inputs())
    with pytest.raises(AttnError, match=f"layer 0 is .*{what}"):
        find_layer(find_part(checkpoint, None), 0)
