import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from covey.cli.console import console, plain, visible


def printed(text, **options):
    file = io.StringIO()
    Console(file=file, emoji=False, width=1000, **options).print(text)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("fedavg-digits-1", "fedavg-digits-1"),
        ("[/s]", "[/s]"),
        ("[red]client[/red]", "[red]client[/red]"),
        ("[link=http://x]y", "[link=http://x]y"),
        ("a\x1b]0;title\x07b", r"a\x1b]0;title\x07b"),
        ("one\r\ntwo", r"one\r\ntwo"),
        ("gpj\u202eexe", r"gpj\u202eexe"),  # turns the direction of writing
        ("caf\xe9 \u6f22", "caf\xe9 \u6f22"),
        ("\udcff", r"\udcff"),  # a file name that is not UTF-8
        (":bomb:", ":bomb:"),
        (3, "3"),
    ],
)
def test_a_name_is_only_text(name, shown):
    assert visible(name) == shown
    assert printed(plain(name)) == shown + "\n"


@given(st.text(alphabet=st.sampled_from("[]/\\ab=#@:\x1b\x9b\x07\n\r\t\u202e ")))
def test_nothing_steers_a_terminal(name):
    said = printed(plain(name), force_terminal=True, color_system=None)
    assert "\x1b" not in said
    assert said.rstrip("\n").isprintable()
    without = str.maketrans("", "", "\\ ")  # rich drops one backslash before a bracket, and spaces at the end
    assert said.rstrip("\n").translate(without) == visible(name).translate(without)


def test_tables_go_through_a_console_that_draws_no_pictures(capsys):
    table = Table("name")
    table.add_row(plain(":bomb:[/s]"))
    console().print(table)
    assert ":bomb:[/s]" in capsys.readouterr().out
