"""`sottovoce run` writes a page whose numbers are those of the summary, and whose command does it again."""

import json
import shlex

import pytest

from sottovoce.cli import main


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0


def test_the_page_holds_the_summary_and_its_command_does_it_again(tmp_path, monkeypatch, capsys, read_page):
    monkeypatch.chdir(tmp_path)
    run("run", "slate", "--horizon", "2k", "--simulated-noise", "--seed", "3", "--out", "a folder")
    assert "report.html" in capsys.readouterr().out
    folder = tmp_path / "a folder"
    page = read_page(folder / "report.html")
    first = json.loads((folder / "summary.json").read_text())["runs"]
    for row, entry in zip(page.table("runs"), first, strict=True):
        values = [value for value, _ in row]
        keys = ("events", "regret_per_event", "no_learning_regret_per_event")
        assert values[1:4] == [repr(entry[key]) for key in keys]
    program, *again = shlex.split(page.tags("pre", "command")[0].text)
    assert program == "sottovoce"
    (folder / "report.html").unlink()  # the same runs may be made again where they are
    run(*again)
    assert (folder / "report.html").is_file()
    second = json.loads((folder / "summary.json").read_text())["runs"]
    assert [entry["regret"] for entry in second] == [entry["regret"] for entry in first]
