"""Every file that docs/toml.md shows can be read."""

import re
from pathlib import Path

import pytest

from covey.compare import Comparison

PAGE = (Path(__file__).parent.parent.parent / "docs" / "toml.md").read_text(encoding="utf-8")
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", FILES)
def test_a_file_of_the_page(text, tmp_path):
    (tmp_path / "a.toml").write_text(text)
    assert Comparison.read(tmp_path / "a.toml").cells()


def test_every_term_is_on_the_page():
    from covey.compare.comparison import Terms

    assert len(FILES) == 5
    for name in Terms.model_fields:
        assert f"| `{name}` |" in PAGE
