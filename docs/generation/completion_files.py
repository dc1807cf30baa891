"""The files by which shells complete the options of `attn`, as `attn --show-completion` prints them."""

import contextlib
import io
import os

from attncli.cli import run

_VARIABLE = "_ATTN_COMPLETE"  # by which the generated functions call `attn`, and which prints them too

# Where each shell looks for a command's file, below `share`.
PATHS = {
    "bash": "bash-completion/completions/attn",
    "zsh": "zsh/site-functions/_attn",
    "fish": "fish/vendor_completions.d/attn.fish",
}
# A file of zsh's is the body of a function that is loaded with the first completion, which it has to answer too.
_FIRST_COMPLETION_OF_ZSH = """
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _attn_completion "$@"
fi
"""


def generate(shell: str) -> str:
    """The completion file of a shell."""
    printed = io.StringIO()
    before = dict(os.environ)
    os.environ[_VARIABLE] = f"source_{shell}"
    try:
        with contextlib.redirect_stdout(printed):
            run([])
    finally:
        os.environ.clear()
        os.environ.update(before)
    text = f"{printed.getvalue().strip()}\n"  # the first line of zsh's has to be `#compdef`
    return text + _FIRST_COMPLETION_OF_ZSH if shell == "zsh" else text
