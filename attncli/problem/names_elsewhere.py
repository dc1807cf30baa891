"""The keys for other libraries' names, such as `attn_mask`, `temperature`, `num_heads`: one table."""

import re

from attncli.ops.records import REQUIRED
from attncli.ops.registry import kinds, operators
from attncli.problem.fields import option_name
from attncli.problem.spec import FIELDS

_CONVENTION = "give --as"
_NO_DROPOUT = "leave it out: attn computes inference, which has no dropout"
_FIT = "attn fit learns: "
_ONE_LAYER = "leave it out: attn computes one layer; attn model --layer N picks it"
_ONE_PROCESSOR = "leave it out: attn computes on the CPU"
_NO_NETWORK = "leave it out: attn computes attention, not the feed-forward layer after it"
_FILE = "name the file without an option: attn compute problem.yaml"
_ORDER = "leave it out: arrays are (batch, tokens, features)"

# The hint for each name, or several; `{heads=8}` is a key or an option with its value.
_HINTS = {
    # how a framework reads a problem
    "as convention framework": _CONVENTION,
    "set": "give --set",
    # inputs
    "input inputs x hidden_states hidden_state memory encoder_hidden_states emb": "give {embeddings}",
    "q queries query_states": "give {query}",
    "k keys key_states": "give {key}",
    "v values value_states": "give {value}",
    "text prompt words": "give {sentence='the cat sat'}",
    "labels names token_names": "give {tokens=the,cat,sat}",
    "input_ids token_ids ids": "give {tokens=464,3797} and {token_table}",
    "wte embedding_table embed_tokens word_embeddings": "give {token_table}",
    "wpe position_embeddings": "give {token_positions}",
    "token_type_embeddings": "give {token_types}",
    "vocab words_file": "give {vocabulary=small}, or a file of your own",
    "file filename path problem config": _FILE,
    # weights
    "wq w_query q_proj q_proj_weight query_weight": "give {w_q}",
    "wk w_key k_proj k_proj_weight key_weight": "give {w_k}",
    "wv w_value v_proj v_proj_weight value_weight": "give {w_v}",
    "wo w_out o_proj out_proj output_weight": "give {w_o}",
    "bias_q q_bias query_bias bq": "give {b_q}",
    "bias_k k_bias key_bias bk": "give {b_k}",
    "bias_v v_bias value_bias bv": "give {b_v}",
    "bias_o o_bias out_bias output_bias bo": "give {b_o}",
    "qkv qkv_proj c_attn in_proj_weight in_proj": "give {w_qkv}, and {packing} for its order",
    "in_proj_bias qkv_bias": "give {b_qkv}",
    # latents
    "q_a_proj wq_a w_dq q_down_proj": "give {w_q_latent}",
    "q_b_proj wq_b w_uq q_up_proj": "give {w_q}, which has the rows of the latent of {w_q_latent}",
    "q_a_layernorm q_a_norm": "give {q_latent_norm=rms}, and its gain",
    "kv_a_proj_with_mqa wkv_a kv_a_proj kv_down_proj": "give {w_kv_latent_rope}: the latent, then the shared features",
    "kv_a_layernorm kv_a_norm": "give {kv_latent_norm=rms}, and its gain",
    "kv_b_proj wkv_b kv_up_proj": "give {w_kv}, with {packing=per_head}, {d_k} and {d_v}",
    "w_dkv": "give {w_kv_latent}",
    "w_uk": "give {w_k}, which has the rows of the latent of {w_kv_latent}",
    "w_uv": "give {w_v}, which has the rows of the latent of {w_kv_latent}",
    "w_kr k_pe_proj k_rope_proj": "give {w_k_rope}",
    "q_lora_rank": "leave it out: {w_q_latent} has so many columns",
    "kv_lora_rank": "leave it out: {w_kv_latent} has so many columns",
    "qk_rope_head_dim": "leave it out: {w_k_rope} has so many columns",
    "indexer_wq_b index_wq_b": "give {w_q_index}, which has the rows of the latent of {w_q_latent}",
    "indexer_wk index_wk": "give {w_k_index}",
    "weights_proj index_weights": "give {w_h_index}",
    "index_k_norm indexer_k_norm": "give {k_index_norm=layer}, and its gain and bias",
    "index_topk index_top_k topk_indices index_keys": "give {mask=top:keys=2048}",
    "index_n_heads index_heads": "leave it out: {w_h_index} has so many columns",
    "index_head_dim": "leave it out: {w_k_index} has so many columns",
    "index_mask": "give {index_scores} and {mask=top:keys=4}, or {mask} itself",
    "qk_nope_head_dim qk_head_dim": "give {d_k=12}: the features of all heads, including those that rope rotates",
    "v_head_dim": "give {d_v=4}; it counts all heads together",
    "mscale": "give {scale}: 1/√d times the square of mscale",
    # recurrences
    "g gk log_decay log_g decays": "give {decay}: logarithms of what each token keeps of the state",
    "betas": "give {beta}",
    "initial_state h0 init_state prev_state": "give {past_state}",
    # sizes and heads
    "num_heads n_heads nhead n_head nheads num_attention_heads q_num_heads": "give {heads=2}",
    "num_kv_heads n_kv_heads num_key_value_heads kv_num_heads num_groups": "give {kv_heads=2}",
    "enable_gqa gqa mqa": "give {heads=8} and {kv_heads=2}",
    "d_model embed_dim hidden_size n_embd embedding_dim model_dim": "give {dim=8}",
    "head_dim d_head head_size key_dim kdim dk qk_head_size": "give {d_k=4}; it counts all heads together",
    "vdim dv value_dim v_head_size": "give {d_v=4}; it counts all heads together",
    "seq_len length n_tokens num_tokens sequence_length seq_length": "give {token_count=4}",
    "q_len query_len query_length tgt_len": "give {token_count=4}; {query_embeddings} has queries of another length",
    "kv_len key_len key_length k_len src_len": "give {token_count=4}, and {key_lengths=3,2} if some of it is padding",
    "batch_size": "leave it out: the arrays have a batch axis",
    "batch_first": _ORDER,
    "qkv_format kv_layout tensor_layout input_layout": "give {layout=bnhd}",
    "num_layers n_layers layers": _ONE_LAYER,
    # masks
    "attention_mask": "give {key_mask}: 1 is a real key and 0 padding, as in attention_mask",
    "key_padding_mask src_key_padding_mask memory_key_padding_mask": (
        "give {key_mask}, which is 1 where key_padding_mask is 0"
    ),
    "attn_mask src_mask tgt_mask block_mask": "give {mask}, where 1 attends, or {bias}, which is added to the scores",
    "padding_mask pad_mask": "give {key_mask}: 1 is a real key and 0 padding",
    "is_causal causal_mask autoregressive unidirectional tril": "give {causal}",
    "attn_bias attention_bias position_bias relative_position_bias": "give {bias}",
    "valid_lens valid_len lengths seq_lens seqlens nonpad_kv_seqlen": "give {key_lengths=3,2}",
    "cu_seqlens_q cu_seq_q cu_seq_lens_q": "give {cu_seqlens=0,3,5}",
    "cu_seq_k cu_seq_lens_k cu_seqlens_kv": "give {cu_seqlens_k=0,4,6}",
    "max_seqlen_q max_seqlen_k max_seqlen": "leave it out: cu_seqlens has the lengths of the sequences",
    "sliding_window window_size local_window_size": "give {window=3,0}: keys on the left and on the right",
    "mask_mod mask_function mask_fn and_masks or_masks": "give {mask}: names with ~, & and |, or a function of yours",
    "document_id document_ids doc_ids segment_ids sequence_ids": "give {mask=document:ids=0 0 1}",
    "prefix_length prefix_len prefix_lm": "give {mask=causal | prefix:size=4}",
    "global_tokens global_attention_mask": "give {mask=window:left=2,right=2 | global:tokens=0}",
    "attention_chunk_size": "give {mask=chunked:size=4}",
    "dilation": "give {mask=dilated:step=2}",
    # scores and weights
    "temperature temp softmax_temperature tau": "give {normalize=softmax:temperature=2}",
    "inverse_temperature": "give {scale=2}",
    "sm_scale softmax_scale scale_factor scaling norm_factor": "give {scale=0.5}",
    "unscaled no_scale": "give {scale=1}",
    "soft_cap logit_softcap logit_cap attn_logit_softcapping attn_logits_soft_cap": "give {softcap=30}",
    "topk top_k": "give {normalize=topk:k=2}",
    "softmax_one quiet_softmax off_by_one": "give {normalize=softmax1}",
    "activation normalization normalizer": "give {normalize=softmax}",
    "score_function scoring similarity attention_type score_mod method": "give {score=dot}",
    "bahdanau": "give {score=additive} with w1, w2 and v: attn show additive",
    "luong": "give {score=general} with w: attn show general",
    "gelu silu swish mlp ffn feed_forward": _NO_NETWORK,
    "dropout dropout_p attn_dropout attention_dropout dropout_rate p": _NO_DROPOUT,
    "backward grad grads gradients autograd requires_grad with_grad": "give {gradient}; in Python gradient=True",
    "do dout d_out dy grad_out grad_outputs upstream_gradient": "give {grad_output}",
    "lr learning_rate step_size": f"{_FIT}give {{rate=0.05}}",
    "epochs iterations num_steps max_iter": f"{_FIT}give {{steps=1000}}",
    "train training learning trainable": f"{_FIT}give {{learn}} w_q and {{target}} output=FILE",
    # positions and the cache
    "rotary rope_theta theta": "give {position=rope:base=10000}",
    "alibi_slopes": "give {position=alibi}",
    "r_proj r_net linear_pos relative_k_proj": "give {position=transformer_xl}, with w_position",
    "bias_u pos_bias_u r_w_bias": "give {position=transformer_xl} with content_bias: attn show transformer_xl",
    "bias_v pos_bias_v r_r_bias": "give {position=transformer_xl} with position_bias: attn show transformer_xl",
    "rel_embeddings pos_att_type share_att_key pos_key_proj pos_query_proj": (
        "give position disentangled with its table and its matrices: attn show disentangled"
    ),
    "position_buckets max_relative_positions": (
        "give position disentangled with max_distance: its table has two rows for each bucket"
    ),
    "norm_rel_ebd": "give {position_norm=layer}, and its gain",
    "pos_encoding positional_encoding pe": "give {position=sinusoidal}",
    "position_ids pos": "give {positions=0,1,2}",
    "block_table block_tables page_tables pages": "give {page_table}, and key and value as pages",
    "block_size page_block_size": "give {page_size=16}",
    "k_cache key_cache": "give {key}, with {page_table} if it has pages",
    "v_cache value_cache": "give {value}, with {page_table} if it has pages",
    "cache_seqlens context_lens seqused_k": "give {key_lengths=3,2}",
    "cache kv_cache past_key_values past_kv layer_past": "give {past_key} and {past_value}",
    # numbers
    "random_seed random_state manual_seed rng": "give {seed=1}",
    "fp16 half": "give {dtype=float16}",
    "bf16": "give {dtype=bfloat16}",
    "fp8 float8 e4m3 e4m3fn": "give {dtype=float8_e4m3fn}",
    "e5m2": "give {dtype=float8_e5m2}",
    "q_descale k_descale": "multiply {scale} by it",
    "v_descale": "give {value_scale}",
    "device cuda gpu": _ONE_PROCESSOR,
    # what is expected
    "expected expect reference_output": "give {against}: attn check --against output=o.npy",
    "tolerance tol eps_rel": "give {rtol} or {atol}",
    # what is shown and written
    "overwrite replace redo": "give {force} to replace a file",
    "decimals digits ndigits places": "give {precision=2}",
    "verbose debug steps trace show_steps": "give {explain}",
    "out outfile output_file save": "give {output=result.csv}",
    "plot figure image png svg": "give {output=weights.svg}",
    "html page": "give {output=page.html}",
    "need_weights return_weights output_attentions return_attention_scores": "give {select=weights,output}",
}
_ROWS = {name: hint for names, hint in _HINTS.items() for name in names.split()}
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"-?\d*\.?\d+(e-?\d+)?|\d+\.", re.IGNORECASE)
_ONE_NUMBER = re.compile(r"give \{(?P<name>\w+)=(?P<operator>\w+:(?P<parameter>\w+)=)?[\d.]+\}")
_NAME = re.compile(r"\{(\w+)(?:=([^}]*))?\}")


def hint_elsewhere(name: str, *, is_option: bool = False, value: str | None = None) -> str | None:
    """The hint for another library's name, with an option or a key; None for unknown names.

    The name of an operator also has a hint. A `value` replaces the example's if the hint has a single number.

    >>> hint_elsewhere("num-heads", is_option=True), hint_elsewhere("Temperature")
    ('give --heads, as in --heads 2', 'give normalize, as in normalize: softmax:temperature=2')
    >>> hint_elsewhere("sparsemax", is_option=True)
    'give --normalize sparsemax'
    >>> hint_elsewhere("temperature", is_option=True, value="0.5")
    'give --normalize softmax:temperature=0.5'
    """
    plain = name.strip("-_").replace("-", "_").casefold()
    template = _ROWS.get(plain) or _hint_of_operator(plain)
    if template is None:
        return None
    before = _FIT if template.startswith(_FIT) else ""
    if value is not None and _NUMBER.fullmatch(value) and (one := _ONE_NUMBER.fullmatch(template, len(before))):
        return f"{before}give {_assigned(one['name'], (one['operator'] or '') + value, is_option=is_option)}"
    return _NAME.sub(lambda found: _written(found[1], found[2], is_option=is_option), template)


def key_elsewhere(name: str) -> str | None:
    """The first key for another library's name; None if there is none.

    >>> key_elsewhere("attn_mask"), key_elsewhere("sm_scale"), key_elsewhere("dropout_p")
    ('mask', 'scale', None)
    """
    template = _ROWS.get(name.strip("_").casefold(), "")
    return next((found[1] for found in _NAME.finditer(template) if found[1] in FIELDS), None)


def varied_elsewhere(name: str) -> tuple[str, str, str] | None:
    """The key for another library's name of one number, with the operator and the name if it is a parameter.

    >>> varied_elsewhere("temperature"), varied_elsewhere("num_heads"), varied_elsewhere("dropout")
    (('normalize', 'softmax', 'temperature'), ('heads', '', ''), None)
    """
    one = _ONE_NUMBER.fullmatch(_ROWS.get(name.replace("-", "_").casefold(), ""))
    return one and (one["name"], (one["operator"] or "").partition(":")[0], one["parameter"] or "")


def _hint_of_operator(name: str) -> str | None:
    """The key for an operator, with its name."""
    taken = ((field.name, operators(field.kind)) for field in FIELDS.values() if field.kind in kinds())
    key, records = next(((key, records) for key, records in taken if name in records), ("", {}))
    if not key or name in FIELDS:
        return None
    needs = any(parameter.default is REQUIRED for parameter in records[name].parameters)
    return f"give {{{key}={name}}}" + (f" with its parameters: attn show {name}" if needs else "")


def _written(name: str, value: str | None, *, is_option: bool) -> str:
    """A name with its value: `--output page.html` or `output: page.html`; a number is marked as an example."""
    field = FIELDS.get(name)
    option = option_name(name) if is_option else name if field is not None else f"the option {option_name(name)}"
    value = "true" if field is not None and field.kind == "flag" and not is_option else value
    if not value:
        return option
    written = _assigned(name, value, is_option=is_option)
    return f"{option}, as in {written.removeprefix('the option ')}" if _DIGIT.search(value) else written


def _assigned(name: str, value: str, *, is_option: bool) -> str:
    """A key, or an option, with its value."""
    if is_option:
        return f"{option_name(name)} {value}"
    return f"{name}: {value}" if name in FIELDS else f"the option {option_name(name)} {value}"
