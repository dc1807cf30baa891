"""`attn`, and `python -m attncli`: what is loaded is loaded where Ctrl-C is heeded."""

import sys

INTERRUPTED = 130  # as shells say it


def main() -> None:
    """Load the command line and run it."""
    try:
        from attncli.cli import main as run  # noqa: PLC0415 - it takes a while, and somebody may have had enough

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
