"""The commands of `attn`, including the wings': a row and a module each, imported when called."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class CommandRef:
    """Where a command's function is, and the additions to its help besides the options.

    The list of commands shows `summary` too; `examples` are command lines to copy; `has_problem` is whether it takes
    the keys of a problem as options; `is_listed` is whether the help of all commands, which must fit a terminal, shows
    it.
    """

    function: str  # "module:function"
    summary: str
    examples: tuple[str, ...] = ()
    has_problem: bool = False
    is_listed: bool = True


_HERE = "attncli.cli.commands"

COMMANDS = {
    "compute": CommandRef(
        f"{_HERE}.compute:compute",
        "Compute attention: scores, weights and output.",
        (
            "attn compute --embeddings '1 0 1; 0 1 0; 1 1 0' --explain",
            "attn compute problem.yaml --causal --select weights",
            "attn compute --sentence 'the cat sat on the mat'",
            "attn compute --query q.npy --key k.npy --value v.npy --heads 2 -o out.npz",
            "attn compute problem.yaml --score gaussian:sigma=2 --json",
        ),
        has_problem=True,
    ),
    "capture": CommandRef(
        "attncli.models.capture_command:capture",
        "Record the attention of a model that reads a text.",
        (
            "attn capture checkpoint 'The cat sat on the mat.' -o captured.safetensors",
            "attn capture checkpoint --ids 464,3797 --layers 0-3 -o captured.safetensors",
            "attn capture checkpoint 'A cat.' --dtype bfloat16 --against a.safetensors",
        ),
    ),
    "check": CommandRef(
        "attncli.checks.command:check",
        "Check numbers: are they right; if not, where and why.",
        (
            "attn check problem.yaml",
            "attn check problem.yaml --against weights='.01 .99; .00 1.00'",
            "attn check --query q.npy --key k.npy --against output=mine.npy --slips",
            "attn check problem.yaml cases --junit report.xml",
        ),
        has_problem=True,
    ),
    "compare": CommandRef(
        "attncli.comparisons.command:compare",
        "Compare variants of a problem side by side.",
        (
            "attn compare problem.yaml --vary normalize=softmax --vary normalize=sparsemax",
            "attn compare problem.yaml --vary scale=0.5,1,2 --vary heads=1,2",
            "attn compare --sentence 'the cat sat' --vary seed=1..100 --format csv",
            "attn compare before.yaml after.yaml --select weights",
            "attn compare problem.yaml --as torch-sdpa --as flash",
        ),
        has_problem=True,
    ),
    "demo": CommandRef(
        "attncli.demos.command:demo",
        "Walk through a worked example.",
        ("attn demo", "attn demo --list", "attn demo bahdanau --explain", "attn demo tutorial --save mine.yaml"),
    ),
    "fit": CommandRef(
        "attncli.fit.command:fit",
        "Learn weights and numbers from a target.",
        (
            "attn fit problem.yaml --learn normalize.temperature --target output=y.csv",
            "attn fit problem.yaml --score gaussian --learn sigma --target output=y.csv",
            "attn fit problem.yaml --learn embeddings --target output=y.csv -o fitted.yaml",
        ),
        has_problem=True,
    ),
    "generate": CommandRef(
        f"{_HERE}.generate:generate",
        "Write a complete problem with numbers drawn from a seed.",
        (
            "attn generate --seed 42 --token-count 4 --dim 3",
            "attn generate --seed 42 --token-count 6 --dim 8 --heads 2 -o folder",
            "attn generate --sentence 'the cat sat' -o cat.yaml",
            "attn generate problem.yaml --w-q normal --seed 7 -o complete.yaml",
        ),
        has_problem=True,
    ),
    "heads": CommandRef(
        "attncli.models.heads_command:heads",
        "Say what each head of a model does, by its maps.",
        (
            "attn heads maps.npy",
            "attn heads maps.npy --tokens 'the cat sat on the mat'",
            "attn heads maps.npy --sort first --top 10 --format csv",
            "attn heads maps.npy --heatmap",
            "attn heads maps.npy --rollout",
        ),
    ),
    "help": CommandRef(f"{_HERE}.help:show_help", "Show the help of a command.", is_listed=False),
    "init": CommandRef(f"{_HERE}.init:init", "Write a problem to start from."),
    "list": CommandRef(f"{_HERE}.list:list_operators", "List the scores, normalizers, positions, masks …"),
    "merge": CommandRef(
        "attncli.kernels.merge_command:merge",
        "Merge parts (output, lse) of the keys to the whole.",
        (
            "attn merge a.npz b.npz --explain",
            "attn merge a.npz b.npz c.npz --lse-base 2 -o whole.npz",
            "attn merge a.npz b.npz --against output=merged.npy",
        ),
        is_listed=False,
    ),
    "model": CommandRef(
        "attncli.models.model_command:model",
        "Write the problem file of a layer of a checkpoint.",
        (
            "attn model checkpoint",
            "attn model checkpoint --layer 3 -o layer.yaml",
            "attn model checkpoint --layer 0-3 -o layers",
            "attn model checkpoint/config.json --layer -1 --part decoder",
        ),
    ),
    "schema": CommandRef(
        f"{_HERE}.schema:schema",
        "Write the JSON Schema of a problem or of a result.",
        ("attn schema problem", "attn schema result"),
        is_listed=False,
    ),
    "show": CommandRef(
        f"{_HERE}.show:show",
        "Explain a word, or list the arrays of a file.",
        ("attn show softmax", "attn show kv_heads", "attn show gqa", "attn show QKᵀ"),
    ),
    "try": CommandRef(
        "attncli.kernels.command:try_function",
        "Try your function on inputs that reveal mistakes.",
        (
            "attn try kernel.py:attention --causal",
            "attn try kernel.py:attention --layout bnhd --kv-heads 2 -o smallest.yaml",
            "attn try kernel.py:attention --window 3,0 --dtype float32 --seed 1",
            "attn try kernel.py:attention --causal --backward",
            "attn try --command './kernel {in} {out}' --causal",
        ),
        has_problem=True,
    ),
    "vectors": CommandRef(
        "attncli.kernels.vectors_command:vectors",
        "Write test vectors for kernels in any language.",
        ("attn vectors", "attn vectors -o pack", "attn vectors causal window -o pack --files json --seed 1"),
        is_listed=False,
    ),
    "worksheet": CommandRef(
        "attncli.worksheet.command:worksheet",
        "Write an exercise with blanks, and its key.",
        (
            "attn worksheet problem.yaml -o sheet.md",
            "attn worksheet problem.yaml --blank 'weights[0,*],output' -o sheet.html",
        ),
        has_problem=True,
    ),
}
