"""`attn model`: from a checkpoint to the problem file of a layer, and what a checkpoint has."""

from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.io.problem_files import read_document
from tests.arrays import normal
from tests.checkpoints import FEATURES, HEADS, LLAMA, llama_tensors, write_checkpoint
from tests.cli.running import Run

NO_YAML = "the suffix does not name a YAML file; name a .yaml or .yml file"


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """The name of a small llama in the folder where `run` runs, and the attention's input in a file."""
    write_checkpoint(tmp_path / "tiny")
    np.save(tmp_path / "x.npy", normal(3, FEATURES))
    return "tiny"


def turned(vectors: np.ndarray, base: float) -> np.ndarray:
    """The vectors [n d] of one head, each of which was turned by its position: the two halves are pairs."""
    half = vectors.shape[1] // 2
    angles = np.arange(len(vectors))[:, None] * base ** -(np.arange(half) / half)
    first, second = vectors[:, :half], vectors[:, half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.hstack([first * cos - second * sin, second * cos + first * sin])


def llama_attention(x: np.ndarray, layer: int) -> np.ndarray:
    """What a layer of the small llama computes, head by head and query by query."""
    w = {name: llama_tensors()[f"model.layers.{layer}.self_attn.{name}_proj.weight"] for name in "qkvo"}
    size, contexts = FEATURES // HEADS, []
    for head in range(HEADS):
        rows = slice(head * size, (head + 1) * size)
        q, k = (turned(x @ w[name][rows].T, LLAMA["rope_theta"]) for name in "qk")
        values = x @ w["v"][rows].T
        context = []
        for query in range(len(x)):
            exponentials = np.exp(k[: query + 1] @ q[query] / np.sqrt(size))
            context.append(exponentials @ values[: query + 1] / exponentials.sum())
        contexts.append(np.array(context))
    return np.hstack(contexts) @ w["o"].T


@pytest.mark.parametrize(("layer", "number"), [("0", 0), ("1", 1), ("-1", 1)])
def test_two_commands_compute_the_attention_of_a_layer(layer: str, number: int, checkpoint: str, run: Run) -> None:
    written = run("model", checkpoint, "--layer", layer, "-o", "layer.yaml")
    said = f"Wrote layer.yaml: layer {number} of the decoder. Next: attn compute layer.yaml --embeddings FILE\n"
    assert (written.returncode, written.stdout, written.stderr) == (0, said, "")
    ran = run("compute", "layer.yaml", "--embeddings", "x.npy", "--select", "output", "-o", "y.npz")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_numbers_are_those_of_the_model(checkpoint: str, run: Run, tmp_path: Path) -> None:
    run("model", checkpoint, "--layer", "1", "-o", "layer.yaml")
    x = np.load(tmp_path / "x.npy")
    output = attncli.load(tmp_path / "layer.yaml", embeddings=x).compute("output").output
    np.testing.assert_allclose(output, llama_attention(x, 1), rtol=1e-12)
    of_python = attncli.load_layer(tmp_path / checkpoint, 1, embeddings=x).compute("output").output
    np.testing.assert_array_equal(of_python, output)


@pytest.mark.parametrize(
    ("layers", "output", "files"),
    [
        ("0-1", "new/layers", ["new/layers/layer_0.yaml", "new/layers/layer_1.yaml"]),
        ("1, 0,1", "l{layer}.yaml", ["l1.yaml", "l0.yaml"]),
        ("all", "tiny", ["tiny/layer_0.yaml", "tiny/layer_1.yaml"]),
        ("-2--1", "a/{layer}/p.yaml", ["a/0/p.yaml", "a/1/p.yaml"]),
    ],
)
def test_several_layers_are_a_file_each(
    layers: str, output: str, files: list[str], checkpoint: str, run: Run, tmp_path: Path
) -> None:
    ran = run("model", checkpoint, "--layer", layers, "-o", output)
    said = f"{files[0]} … {files[-1]}: 2 layers of the decoder. Next: attn compute {files[0]} --embeddings FILE\n"
    assert (ran.returncode, ran.stdout) == (0, f"Wrote {said}"), ran.stderr
    numbers = sorted((tmp_path / file).read_text(encoding="utf-8").split()[2] for file in files)
    assert numbers == ["0", "1"]
    assert attncli.load(tmp_path / files[0], seed=1).heads == HEADS
    again = run("model", checkpoint, "--layer", layers, "-o", output)
    assert again.stderr == f"attn: {files[0]}: already exists; choose another name, or --force\n"


def test_all_layers_are_those_with_attention(run: Run, tmp_path: Path) -> None:
    jamba = {**LLAMA, "model_type": "jamba", "num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1}
    write_checkpoint(tmp_path / "tiny", jamba, [llama_tensors(4)])
    assert run("model", "tiny", "--layer", "all", "-o", "new").returncode == 0
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["layer_1.yaml", "layer_3.yaml"]
    assert "attn reads layers 1, 3" in run("model", "tiny", "--layer", "0-3", "-o", "other").stderr


def test_a_file_in_another_folder_names_the_tensors_from_there(checkpoint: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "problems").mkdir()
    run("model", checkpoint, "--layer", "0", "-o", "problems/layer.yaml")
    assert '"../tiny/model.safetensors#model.layers.0' in (tmp_path / "problems/layer.yaml").read_text(encoding="utf-8")
    assert run("compute", "problems/layer.yaml", "--embeddings", "x.npy").returncode == 0


def test_what_the_file_is_given_is_said_to_be_behind_the_norm_that_it_has(checkpoint: str, run: Run) -> None:
    lines = run("model", checkpoint, "--layer", "0").stdout.splitlines()
    (embeddings,) = [line for line in lines if line.startswith("#") and "--embeddings FILE " in line]
    assert embeddings.endswith("the input of the attention, after the norm of the layer")


def test_the_file_can_be_tried_with_random_numbers(checkpoint: str, run: Run) -> None:
    run("model", checkpoint, "--layer", "0", "-o", "layer.yaml")
    assert run("compute", "layer.yaml", "--seed", "1").returncode == 0
    without = run("compute", "layer.yaml")
    assert without.returncode == 2
    assert "give --seed 1" in without.stderr


def test_as_many_vectors_are_drawn_as_there_are_labels(checkpoint: str, run: Run) -> None:
    run("model", checkpoint, "--layer", "1", "-o", "layer.yaml")
    ran = run("compute", "layer.yaml", "--seed", "1", "--tokens", "the,cat,sat", "--select", "output", "-o", "y.npz")
    assert (ran.returncode, ran.stderr) == (0, "")
    same = run("compute", "layer.yaml", "--seed", "1", "--token-count", "3", "--select", "output", "--format", "csv")
    labelled = run("compute", "layer.yaml", "--seed", "1", "--tokens", "1,2,3", "--select", "output", "--format", "csv")
    assert [line.split(",")[-1] for line in same.stdout.splitlines()] == [
        line.split(",")[-1] for line in labelled.stdout.splitlines()
    ]


def test_the_file_of_a_layer_names_the_tokenizer_and_reads_a_sentence(
    checkpoint: str, run: Run, tmp_path: Path
) -> None:
    assert "tokenizer:" not in run("model", checkpoint, "--layer", "0").stdout
    refused = run("model", checkpoint, "--layer", "0", "--sentence", "hi")
    said = "attn: --sentence: tiny has no tokenizer.json; leave it out, and give attn compute --tokens 464,3797\n"
    assert refused.stderr == said
    (tmp_path / "tiny/tokenizer.json").touch()
    (tmp_path / "new").mkdir()
    written = run("model", checkpoint, "--layer", "0", "--sentence", "The cat: sat", "-o", "new/layer.yaml")
    assert written.stdout.endswith("Next: attn compute new/layer.yaml\n")
    found = read_document(str(tmp_path / "new/layer.yaml"))
    assert [found[key].value for key in ("sentence", "tokenizer")] == ["The cat: sat", "../tiny/tokenizer.json"]
    assert {"embeddings", "token_count"}.isdisjoint(found)
    later = run("model", checkpoint, "--layer", "0-1", "--sentence", "hi", "-o", "new")
    assert "--sentence: layer 1 reads the output of layer 0; leave it out" in later.stderr
    lines = run("model", checkpoint, "--layer", "0").stdout.splitlines()
    assert any(line.startswith("# attn compute layer.yaml --sentence 'The cat sat'") for line in lines)


def test_a_comment_says_where_each_value_is_from(checkpoint: str, run: Run) -> None:
    lines = {line.split(":")[0]: line for line in run("model", checkpoint, "--layer", "0").stdout.splitlines()}
    assert lines["heads"].split("  # ") == [f"{'heads: 2':40}", "config.json: num_attention_heads"]
    assert lines["w_q"].endswith("  # [4, 4] F64")
    assert lines["weight_layout"].endswith("  # nn.Linear stores its weights so")
    assert lines["    base"].split() == ["base:", "500.0", "#", "config.json:", "rope_theta"]
    assert lines["causal"].endswith("  # the model's code")
    assert lines["# The model's code"].endswith(" models/llama/modeling_llama.py.")


def test_a_comment_names_what_config_json_leaves_out_and_what_a_value_is_made_of(run: Run, tmp_path: Path) -> None:
    config = {"model_type": "falcon", "n_head": HEADS, "num_hidden_layers": 1, "hidden_size": FEATURES, "alibi": True}
    names = ("self_attention.query_key_value", "self_attention.dense", "input_layernorm")
    tensors = {f"h.0.{name}.weight": np.ones((FEATURES, FEATURES)) for name in names}
    others = ("h.0.input_layernorm.bias", "word_embeddings.weight")
    write_checkpoint(tmp_path / "tiny", config, [{**tensors, **{name: np.ones(FEATURES) for name in others}}])
    lines = [line.strip() for line in run("model", "tiny", "--layer", "0").stdout.splitlines()]
    assert any(line.endswith("# config.json: n_head; query heads") for line in lines)
    assert any(line.endswith("# config.json: hidden_size, n_head") for line in lines)
    assert any(line.endswith("# default of layer_norm_epsilon, not in config.json") for line in lines)


def test_the_file_of_cross_attention_takes_both_sequences(run: Run, tmp_path: Path) -> None:
    config = {"model_type": "t5", "num_layers": 1, "d_model": FEATURES, "num_heads": HEADS, "d_kv": FEATURES // HEADS}
    names = [f"decoder.block.0.layer.1.EncDecAttention.{name}.weight" for name in "qkvo"]
    write_checkpoint(tmp_path / "tiny", config, [{name: np.eye(FEATURES) for name in names}])
    np.save(tmp_path / "x.npy", np.ones((3, FEATURES)))
    written = run("model", "tiny", "--layer", "0", "--part", "cross", "-o", "p.yaml")
    assert written.stdout.endswith("Next: attn compute p.yaml --embeddings FILE --query-embeddings FILE\n")
    without = run("compute", "p.yaml", "--embeddings", "x.npy")
    assert (without.returncode, "query_embeddings is drawn at random" in without.stderr) == (2, True)
    assert run("compute", "p.yaml", "--embeddings", "x.npy", "--query-embeddings", "x.npy").returncode == 0


def test_the_layer_that_is_proposed_can_be_read(run: Run, tmp_path: Path) -> None:
    config = {**LLAMA, "model_type": "qwen3_next", "num_hidden_layers": 4}
    write_checkpoint(tmp_path / "tiny", config, [llama_tensors(4)])
    assert run("model", "tiny").stdout.splitlines()[-1] == "attn model tiny --layer 3 -o layer.yaml"


def test_the_commands_in_the_file_give_all_that_the_layer_needs(run: Run, tmp_path: Path) -> None:
    config = {"model_type": "bart", "d_model": FEATURES, "decoder_layers": 1, "decoder_attention_heads": HEADS}
    tensors = {f"model.decoder.layers.0.encoder_attn.{name}_proj": FEATURES for name in ("q", "k", "v", "out")}
    weights = {f"{name}.weight": np.eye(size) for name, size in tensors.items()}
    write_checkpoint(tmp_path / "tiny", config, [weights | {f"{name}.bias": np.ones(4) for name in tensors}])
    written = run("model", "tiny", "--layer", "0", "--part", "cross", "-o", "c.yaml")
    assert written.stdout.endswith("Next: attn compute c.yaml --embeddings FILE --query-embeddings FILE\n")
    np.save(tmp_path / "x.npy", np.eye(3, FEATURES))
    without = run("compute", "c.yaml", "--embeddings", "x.npy")
    assert (without.returncode, "query_embeddings is drawn at random" in without.stderr) == (2, True)
    assert run("compute", "c.yaml", "--embeddings", "x.npy", "--query-embeddings", "x.npy").returncode == 0
    assert run("compute", "c.yaml", "--seed", "1").returncode == 0


def test_a_layer_of_python_is_a_whole_number(checkpoint: str, tmp_path: Path) -> None:
    with pytest.raises(attncli.AttnError, match="layer: 'first' is not a whole number"):
        attncli.load_layer(tmp_path / checkpoint, "first", seed=1)
    assert attncli.load_layer(tmp_path / checkpoint, 1.0, seed=1).heads == HEADS


def test_without_a_layer_it_says_what_the_checkpoint_has(run: Run, tmp_path: Path) -> None:
    kinds = ["sliding_attention", "sliding_attention", "full_attention"] * 2
    config = {**LLAMA, "model_type": "gemma3_text", "num_hidden_layers": 6, "layer_types": kinds, "sliding_window": 4}
    write_checkpoint(tmp_path / "tiny", config, [llama_tensors(6)])
    ran = run("model", "tiny")
    assert ran.returncode == 0
    title, _, part, sliding, full, _, command = ran.stdout.splitlines()
    assert title == "gemma3_text (Gemma 3 (text), EmbeddingGemma), 31 tensors"
    assert part == "decoder, 6 layers"
    assert sliding.split()[:4] == ["0–1,", "3–4", "sliding_attention:", "heads"]
    assert full.split()[:4] == ["2,", "5", "full_attention:", "heads"]
    assert ("window 3,0" in sliding, "window" in full) == (True, False)
    assert command == "attn model tiny --layer 0 -o layer.yaml"


def test_a_part_without_tensors_is_said_and_not_proposed(run: Run, tmp_path: Path) -> None:
    config = {"model_type": "whisper", "d_model": FEATURES, "encoder_layers": 1, "decoder_layers": 1}
    config |= {"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS}
    names = [f"decoder.layers.0.self_attn.{name}_proj.weight" for name in ("q", "k", "v", "out")]
    write_checkpoint(tmp_path / "tiny", config, [{name: np.eye(FEATURES) for name in names}])
    lines = run("model", "tiny").stdout.splitlines()
    assert [line for line in lines if ", 1 layer" in line] == [
        "encoder, 1 layer, whose tensors are not here",
        "decoder, 1 layer",
        "cross, 1 layer, whose tensors are not here",
    ]
    assert lines[-1] == "attn model tiny --layer 0 --part decoder -o layer.yaml"


def test_a_folder_whose_name_is_like_a_home_is_read_by_its_path(run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "~tiny")
    (tmp_path / "~problems").mkdir()
    assert run("model", "./~tiny").stdout.endswith("attn model './~tiny' --layer 0 -o layer.yaml\n")
    for file in ("layer.yaml", "./~problems/layer.yaml"):
        assert run("model", "./~tiny", "--layer", "0", "-o", file).returncode == 0
        assert run("compute", file, "--seed", "1").returncode == 0


@pytest.mark.parametrize(("period", "layer"), [(2, 1), (9, None)])
def test_the_command_that_it_suggests_is_of_a_layer_that_is_read(
    period: int, layer: int | None, run: Run, tmp_path: Path
) -> None:
    jamba = {**LLAMA, "model_type": "jamba", "attn_layer_period": period, "attn_layer_offset": period - 1}
    write_checkpoint(tmp_path / "tiny", jamba)
    ran = run("model", "tiny")
    assert ran.stdout.count("Mamba, without attention: not read") == 1
    assert ran.stdout.count(f"attn model tiny --layer {layer} -o layer.yaml") == (layer is not None)


def test_a_model_that_is_not_known_has_its_tensors_listed(run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "tiny", {**LLAMA, "model_type": "lama"})
    for words in (("--layer", "0"), ()):
        ran = run("model", "tiny", *words)
        assert (ran.returncode, ran.stdout) == (2, "")
        error, title, *tensors = ran.stderr.splitlines()
        assert error.startswith("attn: tiny/config.json: ")
        assert "'llama'" in error
        assert title == "attn: tiny holds"
        assert "attn: model.layers.{0…1}.self_attn.q_proj.weight [4, 4] F64" in tensors
    assert run("show", "tiny").stdout.splitlines() == [line.removeprefix("attn: ") for line in tensors]


def test_tensors_of_a_file_that_was_not_downloaded_are_listed_without_shapes(run: Run, tmp_path: Path) -> None:
    tensors = llama_tensors()
    table, others = tensors.pop("model.embed_tokens.weight"), tensors
    write_checkpoint(tmp_path / "tiny", LLAMA, [{"model.embed_tokens.weight": table}, others])
    (tmp_path / "tiny/model-1-of-2.safetensors").unlink()
    first, norm, *_ = run("show", "tiny").stdout.splitlines()
    assert first == "model.embed_tokens.weight in model-1-of-2.safetensors, which is not there"
    assert norm == "model.layers.{0…1}.input_layernorm.weight [4] F64"
    ran = run("model", "tiny", "--layer", "0")
    assert ran.stderr.startswith("attn: tiny/model-1-of-2.safetensors: there is no such file")
    assert run("model", "tiny", "--layer", "1").returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tiny", "--layer", "2"], "the decoder has no layer 2; expected 0 to 1, or -1 for the last"),
        (["tiny", "--layer", "0-5", "-o", "a"], "the decoder has no layer 5; expected 0 to 1, or -1 for the last"),
        (["tiny", "--layer", "1-0"], "--layer: '1-0' ends before it begins; type 0-1"),
        (["tiny", "--layer", "1+0"], "--layer: '1+0' is not a layer; type 3, -1 for the last, 0-5, 0,3,5, or all"),
        (["tiny", "--layer", "0,"], "--layer: '' is not a layer; type 3, -1 for the last, 0-5, 0,3,5, or all"),
        (["tiny", "--layer", "0,", "1"], "--layer: the shell splits a value at spaces; type --layer 0,1"),
        (
            ["tiny", "--layer", "0-1", "-o", "p.yaml"],
            "-o: 2 layers are 2 files; give -o FOLDER, or -o 'layer_{layer}.yaml'",
        ),
        (["tiny", "--layer", "0", "--part", "vision"], "unknown part 'vision'; expected one of decoder"),
        (["tiny", "-o", "p.yaml"], "--layer: is missing; give a number from 0, or -1 for the last layer"),
        (["tiny", "--part", "decoder"], "--layer: is missing; give a number from 0, or -1 for the last layer"),
        (["none"], "none: there is no such file or folder; name a model's folder, with its config.json"),
        (
            ["tiny", "--layer", "0", "-o", "x.npy"],
            "x.npy: the suffix does not name a YAML file; name a .yaml or .yml file",
        ),
        (["tiny", "--layer", "0", "-o", "old.yaml"], "old.yaml: already exists; choose another name, or --force"),
    ],
    ids=" ".join,
)
def test_what_can_not_be_done_is_said_in_one_line(
    words: list[str], message: str, checkpoint: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.yaml").write_text("heads: 2\n", encoding="utf-8")
    ran = run("model", *words)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"attn: {message}\n")
    assert (tmp_path / "old.yaml").read_text(encoding="utf-8") == "heads: 2\n"


def test_models_are_listed_where_they_are_asked_for(run: Run) -> None:
    assert "llama" in run("list", "models").stdout
    assert "Llama" not in run("list").stdout


def test_the_shell_completes_the_parts_of_the_checkpoint(checkpoint: str, run: Run) -> None:
    words = f"attn model {checkpoint} --part d"
    ran = run(env={"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"})
    assert ran.stdout.split() == ["decoder"]
