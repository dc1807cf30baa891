"""`attn` and `python -m attncli`: the command line is imported where Ctrl-C is handled already."""

import sys

INTERRUPTED = 130  # the exit status that shells give to a process that SIGINT ended


def main() -> None:
    """Import the command line and run it; exit status 130 where Ctrl-C interrupts either."""
    try:
        from attncli.cli import main as run_command_line  # noqa: PLC0415 - Ctrl-C may interrupt the import

        run_command_line()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
