"""The table of commands: a command is a row of it and a file; its summary is in the table alone."""

from pathlib import Path

import pytest

from attncli.cli import command_group, commands
from attncli.cli.commands import COMMANDS, CommandRef
from tests.cli.running import Run


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_and_the_help_of_each_have_one_summary(name: str, run: Run) -> None:
    wide = {"COLUMNS": "200"}
    summary = COMMANDS[name].summary
    lines = run("--help", env=wide).stdout.splitlines()
    assert any(name in line and summary in line for line in lines) == COMMANDS[name].is_listed
    assert summary in run(name, "--help", env=wide).stdout


def test_a_command_is_a_file_and_a_row(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "command_of_a_test.py").write_text(
        'def greet(name: str = "world") -> None:\n    print(f"hello {name}")\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "greet", CommandRef("command_of_a_test:greet", "Print a greeting."))
    assert vars(command_group)["COMMANDS"] is commands.COMMANDS
    assert run("greet", "--name", "you").stdout == "hello you\n"
    assert "Print a greeting." in run("--help").stdout
    assert "Print a greeting." in run("greet", "--help").stdout
    assert run("gret").stderr.startswith("attn: unknown command 'gret'; did you mean 'greet'?")
