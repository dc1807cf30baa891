"""The variants of `attn compare`, from its words, and the warnings on them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.cli.option_values import check_stdin, read_problem_options
from attncli.problem.fields import option_name

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.io.variants import NamedDocument, Variant

VARY = "--vary"
MAX_NAMES = 3  # variants that a warning names


def read_variants(
    problems: Sequence[str], vary: Sequence[str], conventions: Sequence[str], keys: Mapping[str, Any], inputs: "Inputs"
) -> "Sequence[Variant]":
    """The variants of the problems in files, each with the keys of the options, and of what is varied.

    Raises AttnError where a word is wrong, or a key is an option and varied.
    """
    from attncli.io.origin import Origin
    from attncli.io.variants import make_variants
    from attncli.io.varied_values import read_varied

    texts = [text.partition("=")[2] for text in vary]
    check_stdin(*problems, *texts, *keys.values())
    varied = read_varied(vary, Origin(options=True, option=VARY, inputs=inputs))
    for key in varied:
        if keys.get(key) not in (None, [], ()):
            raise AttnError(f"{key} is given and varied", where=option_name(key), hint="leave out one of them")
    return make_variants(_documents(problems, keys, inputs), varied, conventions)


def _documents(problems: Sequence[str], keys: Mapping[str, Any], inputs: "Inputs") -> "Sequence[NamedDocument]":
    """The documents of files and of their parts, with the options over them; without a file that of the options."""
    from attncli.io.inputs import STDIN_NAME
    from attncli.io.parts import file_parts
    from attncli.io.paths import STDIN
    from attncli.io.variants import NamedDocument

    documents = []
    for problem in problems or (None,):
        name = STDIN_NAME if problem == STDIN else problem or ""
        parts = file_parts(read_problem_options(problem, keys, inputs), name)
        documents += [NamedDocument(f"{name} {part.name}" if part.name else name, part.problem) for part in parts]
    return documents
