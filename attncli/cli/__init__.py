"""The command line: the application, and the only code that reports errors."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from attncli.base.errors import AttnError
from attncli.base.program import FAILED, __version__
from attncli.cli import streams
from attncli.cli.command_group import CommandGroup

# NumPy's library of matrix products (BLAS) reads these environment variables when it is loaded. It gets one thread,
# because each core runs one of these threads.
BLAS_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

app = typer.Typer(
    name="attn",
    cls=CommandGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_requested: bool) -> None:
    """On `--version` print the version and end the program."""
    if is_requested:
        typer.echo(f"attn {__version__}")
        raise typer.Exit


@app.callback()
def attn(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Attention, every kind of it, on your own numbers. Start with attn demo."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> int:
    """Run the command line of this process and return its exit status."""
    os.environ |= dict.fromkeys(BLAS_THREAD_VARIABLES, "1")
    with streams.usable_streams():
        return run()


def run(args: Sequence[str] | None = None) -> int:
    """Run a command line, by default the arguments of this process, and return its exit status.

    An error that the user can correct is one line on standard error, and the status is FAILED.
    """
    try:
        app(args, prog_name="attn")
    except SystemExit as exit_:  # how Typer ends every command
        return exit_.code if isinstance(exit_.code, int) else 0
    except AttnError as error:
        return _report(error.typed)
    except MemoryError:
        return _report("there is not enough memory; compute some of the queries with --only")
    except OSError as error:  # opening a file raises AttnError, so this is standard output's
        return _report(f"standard output: can't be written ({error.strerror})")
    return 0


def _report(message: str) -> int:
    """Print an error as one line on standard error and return FAILED."""
    streams.write_error(message)
    return FAILED
