"""Every stored comparison can be made."""

from pathlib import Path

import pytest

from covey.compare import Comparison

FOLDER = Path(__file__).parent.parent / "experiments"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_comparison_is_made_of_known_settings(path):
    comparison = Comparison.read(path)
    assert len(comparison.entries) > 1
    assert len(comparison.cells()) == 3 * len(comparison.entries)
    assert comparison.terms.expect
