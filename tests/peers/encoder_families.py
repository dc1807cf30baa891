"""The encoders, encoder-decoders, vision and audio models that are compared: a row for each part of a family."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.peers.tiny_models import ITEMS, LENGTH, VOCABULARY, TinyModel, tokens

ROPE = "rope"
MODEL = "AutoModel"
SELF_ATTENTION = "layers.{layer}.self_attn"


def target_tokens(config: Any) -> dict[str, Any]:
    """Tokens for the encoder, and others for the decoder."""
    import torch

    drawn = torch.Generator().manual_seed(8)
    decoder = torch.randint(3, VOCABULARY, (ITEMS, LENGTH - 2), generator=drawn)
    return {**tokens(config), "decoder_input_ids": decoder, "use_cache": False}


def unmasked_long(config: Any) -> dict[str, Any]:
    """As many tokens as whole blocks have, so that none is added as padding."""
    import torch

    drawn = torch.Generator().manual_seed(7)
    return {"input_ids": torch.randint(3, VOCABULARY, (ITEMS, 12), generator=drawn)}


def long_target_tokens(config: Any) -> dict[str, Any]:
    """Whole blocks of tokens for the encoder, and others for the decoder."""
    return {**target_tokens(config), **unmasked_long(config)}


def with_encoder_vectors(config: Any, size: int | None = None, length: int = 7) -> dict[str, Any]:
    """Tokens, and what an encoder gives: so many vectors of this size, by default that of the tokens' vectors."""
    import torch

    drawn = torch.Generator().manual_seed(8)
    vectors = torch.randn((ITEMS, length, size or config.hidden_size), generator=drawn, dtype=torch.float64)
    return {**tokens(config), "encoder_hidden_states": vectors, "use_cache": False}


def with_as_many_vectors(config: Any) -> dict[str, Any]:
    """Tokens, and as many vectors of an encoder: some models of transformers take no other number."""
    return with_encoder_vectors(config, length=LENGTH)


def with_image_vectors(config: Any) -> dict[str, Any]:
    """Tokens, and what an image encoder gives."""
    return with_encoder_vectors(config, config.cross_attention_hidden_size)


def unmasked(config: Any) -> dict[str, Any]:
    """Tokens, for models that take any for padding where no mask is given."""
    given = tokens(config)
    return {**given, "attention_mask": given["input_ids"] * 0 + 1, "use_cache": False}


BERT = TinyModel(
    "bert",
    {"intermediate_size": 16, "shape_vocab_size": VOCABULARY, "pronunciation_vocab_size": VOCABULARY},
    model_class=MODEL,
    part="encoder",
    module="encoder.layer.{layer}.attention.self",
    output="encoder.layer.{layer}.attention.output.dense",
    block="encoder.layer.{layer}.attention",
)


def like_bert(model_type: str, config: Mapping[str, Any] = BERT.config, **fields: Any) -> TinyModel:
    """A row that differs from BERT's by these fields."""
    return replace(BERT, model_type=model_type, config={**BERT.config, **config}, **fields)


BERTS = [
    BERT,
    replace(BERT, part="encoder", variant="causal", config={**BERT.config, "is_decoder": True}),
    *(
        like_bert(name)
        for name in ("roberta", "xlm-roberta", "camembert", "electra", "ernie", "data2vec-text", "roc_bert")
    ),
    *(like_bert(name) for name in ("bert-generation", "layoutlm")),
    *(like_bert(name, kernel="eager") for name in ("rembert", "visual_bert", "ibert", "tapas")),
    like_bert("luke", {"vocab_size": VOCABULARY, "entity_vocab_size": 5}, kernel="eager"),
    like_bert("big_bird", {"attention_type": "original_full"}, kernel="eager"),
    like_bert("dpr", {}),
    like_bert(
        "longformer",
        {"attention_window": [4, 6], "pad_token_id": 1},
        kernel="eager",
        float32="softmax",
        inputs=unmasked_long,
    ),
    *(like_bert(name, kernel="eager", float32="softmax") for name in ("splinter", "markuplm")),
    like_bert("roformer", kernel="eager", float32=ROPE),
    like_bert("megatron-bert", kernel="eager"),
    like_bert("xlm-roberta-xl"),
    like_bert("roberta-prelayernorm"),
    like_bert("xmod", {"pre_norm": True, "default_language": "en_XX"}),
    *(
        like_bert(name, {"pad_token_id": 1}, part="text", model_class=model, kernel="eager", float32="softmax")
        for name, model in (("clap_text_model", "ClapTextModel"), ("chinese_clip_text_model", "ChineseCLIPTextModel"))
    ),
]

CROSSED_BERTS = [
    replace(
        row,
        part="cross",
        config={**row.config, "is_decoder": True, "add_cross_attention": True},
        module="encoder.layer.{layer}.crossattention.self",
        output="encoder.layer.{layer}.crossattention.output.dense",
        block=None,
        query_embeddings="hidden_states",
        embeddings="encoder_hidden_states",
        inputs=with_as_many_vectors if row.model_type in ("megatron-bert", "tapas") else with_encoder_vectors,
    )
    for row in (
        BERT,
        *(
            like_bert(name)
            for name in ("roberta", "xlm-roberta", "camembert", "electra", "ernie", "data2vec-text", "roc_bert")
        ),
        like_bert("bert-generation"),
        *(like_bert(name, kernel="eager") for name in ("rembert", "tapas", "roformer", "megatron-bert")),
        like_bert("big_bird", {"attention_type": "original_full"}, kernel="eager"),
        *(like_bert(name) for name in ("xlm-roberta-xl", "roberta-prelayernorm")),
        like_bert("xmod", {"pre_norm": True, "default_language": "en_XX"}),
    )
]

ENCODERS = [
    TinyModel(
        "distilbert",
        {"dim": 32, "hidden_dim": 16, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY},
        sizes={},
        model_class=MODEL,
        module="transformer.layer.{layer}.attention",
    ),
    *(
        TinyModel(
            name,
            {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY},
            sizes={},
            model_class=MODEL,
            module="attentions.{layer}",
            kernel="eager",
            float32="softmax",
            inputs=unmasked,
        )
        for name in ("xlm", "flaubert")
    ),
    TinyModel(
        "albert",
        {"embedding_size": 16, "num_hidden_layers": 4, "num_hidden_groups": 2, "intermediate_size": 16},
        layers=(3,),
        model_class=MODEL,
        module="albert_layer_groups.1.albert_layers.0.attention",
        output="{module}.dense",
    ),
    TinyModel(
        "mpnet",
        {"intermediate_size": 16},
        model_class=MODEL,
        kernel="eager",
        module="encoder.layer.{layer}.attention.attn",
    ),
    TinyModel(
        "esm",
        {"intermediate_size": 16, "position_embedding_type": "rotary", "pad_token_id": 1, "mask_token_id": 2},
        model_class=MODEL,
        module="encoder.layer.{layer}.attention.self",
        output="encoder.layer.{layer}.attention.output.dense",
        float32=ROPE,
    ),
    TinyModel(
        "modernbert",
        {"intermediate_size": 16, "pad_token_id": 0, "local_attention": 6, "attention_bias": True},
        model_class=MODEL,
        module="layers.{layer}.attn",
        block="layers.{layer}",
        float32=ROPE,
    ),
    *(
        TinyModel(
            name, {"intermediate_size": 16, "pad_token_id": 0}, model_class=MODEL, module=SELF_ATTENTION, float32=ROPE
        )
        for name in ("nomic_bert", "gte", "jina_embeddings_v3", "eurobert")
    ),
    TinyModel("esmc", {"intermediate_size": 16}, model_class=MODEL, module=SELF_ATTENTION, float32=ROPE),
    TinyModel(
        "ultrabert",
        {"intermediate_size": 16, "sliding_window": 3, "num_hidden_layers": 3},
        layers=(0, 2),
        model_class=MODEL,
        module=SELF_ATTENTION,
        block="layers.{layer}",
        float32=ROPE,
    ),
    TinyModel(
        "openai_privacy_filter",
        {"intermediate_size": 16, "sliding_window": 3, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1},
        model_class=MODEL,
        module=SELF_ATTENTION,
        block="layers.{layer}",
        kernel="eager",
        float32=ROPE,
    ),
    TinyModel(
        "embedding_gemma2_text",
        {"intermediate_size": 16, "sliding_window": 3, "head_dim": 8, "num_key_value_heads": 2, "global_head_dim": 12},
        model_class=MODEL,
        module=SELF_ATTENTION,
        block="layers.{layer}",
        float32=ROPE,
    ),
]

T5 = TinyModel(
    "t5",
    {"d_model": 32, "d_kv": 6, "d_ff": 16, "num_heads": 4, "num_layers": 2, "vocab_size": VOCABULARY},
    sizes={},
    model_class=MODEL,
    part="encoder",
    module="encoder.block.{layer}.layer.0.SelfAttention",
    inputs=target_tokens,
    kernel="eager",
    float32="norm",
)
BART = TinyModel(
    "bart",
    {
        "d_model": 32,
        **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 2,
        **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 16),
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 40,
        "pad_token_id": 1,
    },
    sizes={},
    model_class=MODEL,
    part="encoder",
    module="encoder.layers.{layer}.self_attn",
    inputs=target_tokens,
)


def three_parts(row: TinyModel, decoder: str, cross: str, keys: str = "key_value_states") -> list[TinyModel]:
    """The rows of an encoder-decoder: its encoder, and its decoder and cross-attention in these modules."""
    encoder, around = (module.rpartition(".")[0] for module in (row.module, decoder))
    crossed = {"query_embeddings": "hidden_states", "embeddings": keys}
    return [
        replace(row, block=encoder),
        replace(row, part="decoder", module=decoder, block=around, tokens="decoder_input_ids"),
        replace(row, part="cross", module=cross, **crossed),
    ]


def like_t5(
    model_type: str, config: Mapping[str, Any], keys: str = "key_value_states", **fields: Any
) -> list[TinyModel]:
    """The rows of a family that differs from T5 by these fields."""
    row = replace(T5, model_type=model_type, config={**T5.config, **config}, **fields)
    decoder = "decoder.block.{layer}.layer"
    return three_parts(row, f"{decoder}.0.SelfAttention", f"{decoder}.1.EncDecAttention", keys)


def like_bart(
    model_type: str, config: Mapping[str, Any], cross: str = "encoder_attn", **fields: Any
) -> list[TinyModel]:
    """The rows of a family that differs from BART by these fields."""
    row = replace(BART, model_type=model_type, config={**BART.config, **config}, **fields)
    return three_parts(row, "decoder.layers.{layer}.self_attn", f"decoder.layers.{{layer}}.{cross}")


ENCODER_DECODERS = [
    *like_t5("t5", {}),
    *like_t5("mt5", {}),
    *like_t5("umt5", {}, "encoder_hidden_states"),
    *like_t5("switch_transformers", {"num_experts": 2}),
    *like_t5(
        "longt5", {"local_radius": 3}, module="encoder.block.{layer}.layer.0.LocalSelfAttention", float32="softmax"
    ),
    *like_bart("bart", {}),
    replace(like_bart("bart", {"is_causal": False})[1], variant="both-ways"),
    *(row for name in ("mbart", "pegasus", "blenderbot", "m2m_100", "plbart") for row in like_bart(name, {})),
    *like_bart("blenderbot-small", {}),
    *like_bart("marian", {"decoder_start_token_id": 1}),
    *like_bart("nllb-moe", {"num_experts": 2}, "cross_attention", kernel="eager"),
    *like_bart("mvp", {}, kernel="eager"),
]

GEMMA2 = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "sliding_window": 3,
    "query_pre_attn_scalar": 9,
    "pad_token_id": 0,
}
T5GEMMA = three_parts(
    TinyModel(
        "t5gemma",
        {"encoder": GEMMA2, "decoder": {**GEMMA2, "cross_attention_hidden_size": 32}, "vocab_size": VOCABULARY},
        sizes={},
        model_class=MODEL,
        part="encoder",
        module="encoder.layers.{layer}.self_attn",
        inputs=target_tokens,
        kernel="eager",
        float32=ROPE,
    ),
    "decoder.layers.{layer}.self_attn",
    "decoder.layers.{layer}.cross_attn",
    "encoder_hidden_states",
)

LED_ENCODER, *LED_DECODER = like_bart(
    "led", {"attention_window": 4, "pad_token_id": 1}, kernel="eager", inputs=long_target_tokens
)
PARTS_OF_BART = [
    replace(
        LED_ENCODER,
        float32="softmax",
        module="encoder.layers.{layer}.self_attn.longformer_self_attn",
        output="encoder.layers.{layer}.self_attn.output",
    ),
    *LED_DECODER,
    *like_bart("pegasus_x", {"block_size": 4, "num_global_tokens": 2}, kernel="eager", inputs=long_target_tokens)[1:],
    *like_bart("bigbird_pegasus", {"attention_type": "original_full"}, kernel="eager"),
    *(
        replace(
            row,
            model_class="AutoModelForCausalLM",
            kernel="eager",
            inputs=with_image_vectors,
            tokens="input_ids",
            sizes={**row.sizes, "cross_attention_hidden_size": 20},
            config={name: value for name, value in row.config.items() if not name.startswith("encoder_")},
        )
        for row in like_bart("trocr", {})[1:]
    ),
]

PROPHETNET = TinyModel(
    "prophetnet",
    {
        "hidden_size": 32,
        "vocab_size": VOCABULARY,
        **{f"num_{part}_layers": 2 for part in ("encoder", "decoder")},
        **{f"num_{part}_attention_heads": 4 for part in ("encoder", "decoder")},
        **{f"{part}_ffn_dim": 16 for part in ("encoder", "decoder")},
    },
    sizes={},
    model_class=MODEL,
    part="encoder",
    module="encoder.layers.{layer}.self_attn",
    inputs=target_tokens,
    kernel="eager",
)

PROPHETNET_CROSS = replace(
    PROPHETNET,
    part="cross",
    module="decoder.layers.{layer}.cross_attn",
    query_embeddings="hidden_states",
    embeddings="key_value_states",
)

FAMILIES = [
    PROPHETNET,
    PROPHETNET_CROSS,
    *CROSSED_BERTS,
    *PARTS_OF_BART,
    *T5GEMMA,
    *BERTS,
    *ENCODERS,
    *ENCODER_DECODERS,
]
