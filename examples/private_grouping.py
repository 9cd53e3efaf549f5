"""What privacy costs a grouping: groups formed on noised label counts, measured on the true ones.

    python examples/private_grouping.py

300 made-up clients with 20 to 199 samples of 10 labels (Dirichlet 0.1). Each client adds noise to its counts before it
reports them: discrete Laplace (epsilon) or discrete Gaussian (epsilon, delta = 1e-5). Averages over five draws.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from covey.grouping import group, measure
from covey.grouping.privacy import Mechanism, noised

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
DRAWS = 5


def made_up_fleet(clients: int = 300, classes: int = 10, alpha: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(0)
    mixes = rng.dirichlet(np.full(classes, alpha), clients)
    return np.array([rng.multinomial(rng.integers(20, 200), mix) for mix in mixes])


def cost_of_privacy(labels: np.ndarray, epsilon: float, mechanism: Mechanism, method: str = "cov") -> float:
    """The mean CoV, on the true counts, of groups formed on noised ones."""
    covs = []
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        reported = noised(labels, epsilon=epsilon, mechanism=mechanism, rng=rng)
        covs.append(measure(group(method, reported, min_size=5, rng=rng), labels).cov.mean())
    return float(np.mean(covs))


def main() -> None:
    labels = made_up_fleet()

    def plain(method: str) -> float:
        draws = (group(method, labels, min_size=5, rng=np.random.default_rng(draw)) for draw in range(DRAWS))
        return float(np.mean([measure(grouping, labels).cov.mean() for grouping in draws]))

    table = Table(box=None, header_style="bold")
    for heading in ("epsilon", "CoV, Laplace", "CoV, Gaussian"):
        table.add_column(heading, justify="right")
    table.add_row("random groups", f"{plain('random'):.3f}", f"{plain('random'):.3f}")
    for epsilon in EPSILONS:
        covs = (cost_of_privacy(labels, epsilon, mechanism) for mechanism in ("laplace", "gaussian"))
        table.add_row(f"{epsilon:g}", *(f"{cov:.3f}" for cov in covs))
    table.add_row("no noise", f"{plain('cov'):.3f}", f"{plain('cov'):.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
