"""The command line: the application, its commands, and the one place where errors are shown."""

import os
import sys
from typing import Annotated

import typer

from attncli import __version__
from attncli.base.errors import AttnError
from attncli.base.text import escape_control
from attncli.cli.lazy_commands import Commands

# Every core has a worker of ours; NumPy's library of products reads these when it is loaded.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

app = typer.Typer(
    name="attn",
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"attn {__version__}")
        raise typer.Exit


@app.callback()
def attn(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Attention, every kind of it, on your own numbers.

    Start with attn demo, then attn compute --help.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; what the user can mend becomes one line on standard error and exit status 2."""
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    try:
        app(prog_name="attn")
    except AttnError as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory; compute some of the queries with --only")
    except OSError as error:  # every file is guarded where it is opened: what is left is standard output
        _fail(f"standard output: can't be written ({error.strerror})")


def _fail(message: str) -> None:
    """One line on standard error; then nothing more is flushed to a broken standard output."""
    if sys.stderr is not None:
        print(f"attn: {escape_control(message)}", file=sys.stderr)
        sys.stderr.flush()
    os._exit(2)
