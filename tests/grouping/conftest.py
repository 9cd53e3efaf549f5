from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="session")
def literal() -> ModuleType:
    """The papers' pseudo-code in plain Python, kept with the benchmarks."""
    path = Path(__file__).parents[2] / "benchmarks" / "literal_grouping.py"
    spec = spec_from_file_location("literal_grouping", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fleet():
    """Label counts of `n` clients with `m` labels: Dirichlet mixes, 20 to 199 samples each."""

    def make(n: int, m: int = 10, alpha: float = 0.3, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        mixes = rng.dirichlet(np.full(m, alpha), n)
        return np.array([rng.multinomial(rng.integers(20, 200), mix) for mix in mixes])

    return make
