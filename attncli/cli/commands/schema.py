"""`attn schema`: the JSON Schema of a problem file, or of a command's `--json` output."""

from attncli.base.errors import UnknownNameError
from attncli.cli import streams
from attncli.cli.completion import complete_from
from attncli.cli.output_file import output_file, say_written
from attncli.cli.problem_options import Strict, argument, option
from attncli.ops import broken_packages

KINDS = {
    "problem": "a problem file, which an editor completes with it",
    "result": "the output of attn compute --json",
    "check": "the output of attn check --json",
    "compare": "the output of attn compare --json",
    "try": "the output of attn try --json",
}


def schema(
    kind: str = argument(f"One of {', '.join(KINDS)}.", "KIND", default=..., complete=complete_from(lambda: KINDS)),
    *,
    output: str | None = option("Write a file; without it standard output.", "--output", "-o", metavar="FILE"),
    strict: Strict = False,
) -> None:
    """Write the JSON Schema (2020-12) of a problem file, or of a command's `--json` output."""
    from attncli.io.output_files import atomic_write_file
    from attncli.render import objects
    from attncli.render.schemas import SCHEMAS, schema_of
    from attncli.render.target import TEXT_FILE

    streams.write_warnings(broken_packages(), strict=strict)
    if kind not in SCHEMAS:
        raise UnknownNameError("schema", kind, KINDS)
    file = None if output is None else output_file(output)
    if file is None:
        streams.write_output(objects.write_json(schema_of(kind), streams.output_target()))
    else:
        atomic_write_file(file, "".join(objects.write_json(schema_of(kind), TEXT_FILE)))
        say_written(file)
