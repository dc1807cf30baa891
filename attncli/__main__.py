"""`python -m attncli` is `attn`."""

from attncli.cli import main

if __name__ == "__main__":
    main()
