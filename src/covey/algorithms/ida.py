"""IDA: FedAvg that trusts models near the others more.

Yeganeh et al., "Inverse Distance Aggregation for Federated Learning with Non-IID Data", DART 2020. How models become
one is `covey.merge.ida`; any algorithm takes it as `--merge ida`.
"""

from __future__ import annotations

from covey.algorithms.base import ALGORITHMS, settings
from covey.algorithms.fedavg import FedAvg


@ALGORITHMS.register("ida", paper="Yeganeh et al. 2020")
@settings
class IDA(FedAvg):
    """A star that weights every model by the inverse of its distance from the mean."""

    def parts(self) -> dict[str, str]:
        """IDA's merge."""
        return {"merge": "ida"}
