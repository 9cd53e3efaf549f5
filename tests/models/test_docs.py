"""The snippets of docs/models.md run as they are printed."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "models.md"


def test_the_page_runs(tmp_path, monkeypatch):
    file, use = re.findall(r"```python\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    (tmp_path / "tiny_net.py").write_text(file)
    monkeypatch.chdir(tmp_path)
    exec(compile(use, str(DOCS), "exec"), {})
