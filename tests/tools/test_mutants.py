"""Faults put into the source: what is made of a line, and which are tried again."""

import pytest
from tools.mutants.draw import ROOT, near_tests, of_package, told, unnoticed
from tools.mutants.mutate import mutants


def texts(source):
    return {mutant.apply(source) for mutant in mutants("f.py", source)}


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("x = a + b", {"x = a - b"}),
        ("x = not a", {"x = a"}),
        ("x = min(a, b)", {"x = max(a, b)", "x = min(b, a)"}),
        ("x = a and b", {"x = a or b"}),
        ("x = f(a, k=b)", {"x = f(a)"}),
        ("x = a if b else c", {"x = (c if b else a)"}),
        ("f(a)", {"pass"}),
        ("x: int = 3", {"x: int = 4"}),
        ("raise E(a + b)", set()),  # what an error says is nobody's number
    ],
)
def test_a_line_and_its_faults(source, faults):
    assert texts(source) == faults


def test_what_went_unnoticed_is_found_again_where_lines_have_moved(tmp_path):
    every = of_package("seeds.py")
    one, other = every[0], every[-1]
    source = (ROOT / one.file).read_text()
    moved = one.shown(source).replace(f"{one.file}:{one.line}:", f"{one.file}:{one.line + 40}:")
    (tmp_path / "out").write_text(f"survived {moved}\nnoticed  {other.shown(source)}\n")
    found = unnoticed(tmp_path / "out")
    assert told(one) in found
    assert told(other) not in found


def test_the_nearest_tests_come_first():
    first, *_, last = near_tests("src/covey/merge/mean.py")
    assert all("merge" in name for name in first)
    assert "tests/test_loop.py" in last
