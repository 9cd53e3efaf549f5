"""The snippet of docs/theory.md runs as it is printed and shows what the page says; so does the table of prices."""

import re
from pathlib import Path

from covey.theory import ARCHITECTURES, PRICES

PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()


def test_mixed_groups_have_the_smaller_bounds(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "docs/theory.md", "exec"), {})
    alike, alike_stray, mixed, mixed_stray = map(float, capsys.readouterr().out.split())
    assert mixed < alike
    assert mixed_stray < alike_stray


def test_the_page_prints_every_architecture_and_price():
    for name in ARCHITECTURES:
        assert f"| `{name}` |" in PAGE
    for entry in PRICES:
        (row,) = re.findall(rf"^\| `{entry.name}` \| (.*?) \| (.*?) \|$", PAGE, flags=re.MULTILINE)
        for printed, price in zip(row, (entry.thing.group, entry.thing.train), strict=True):
            if same := re.fullmatch(r"as `(.*)`", printed):
                field = "group" if price is entry.thing.group else "train"
                assert price == getattr(PRICES[same[1]], field)
            else:
                assert tuple(map(float, printed.split(","))) == price
