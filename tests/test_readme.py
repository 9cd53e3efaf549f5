"""What the README and the guides show runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MADE = [f"reference/{name}.md" for name in ("cli", "settings", "python", "callbacks")]  # by make docs, from the code


def blocks(path):
    return re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(encoding="utf-8"), re.DOTALL)


def test_the_readmes_own_plan_runs(capsys):
    (code,) = blocks("README.md")
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    accuracy, traffic = capsys.readouterr().out.split()
    # 15 pairs a round: to the first, between the two, back to the cloud: 3 models of 650 values, 15 rounds
    assert int(traffic) == 15 * 15 * 3 * 650 * 4
    assert float(accuracy) > 0.8


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target and target not in MADE:
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200
