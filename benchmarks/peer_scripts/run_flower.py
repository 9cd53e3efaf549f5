"""Flower's simulation on Ray: its FedAvg, as many clients at once as there are cores, one core each, no evaluation."""

from __future__ import annotations

import os
from collections.abc import Iterable

from flower_client import client_app
from flwr.app import ArrayRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from work import Watch, answer, given


class Strict(FedAvg):
    """FedAvg that does not go on when clients fail: fewer trainings would look like speed."""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        replies = list(replies)
        failed = [reply.error.reason for reply in replies if reply.has_error()]
        if failed or len(replies) != self.min_train_nodes:
            raise RuntimeError(f"{len(replies)} clients answered, {len(failed)} of them with an error: {failed[:1]}")
        return super().aggregate_train(server_round, replies)


def main() -> None:
    work = given()
    module = work.build()
    before, cores = work.loss(module), len(os.sched_getaffinity(0))
    watch, server = Watch(), ServerApp()

    @server.main()
    def train(grid: Grid, context: Context) -> None:
        def look(round: int, arrays: ArrayRecord) -> None:
            if round:
                watch.round_over()

        strategy = Strict(
            fraction_train=work.cohort / work.clients,
            fraction_evaluate=0.0,
            min_train_nodes=work.cohort,
            min_available_nodes=work.clients,
        )
        arrays = ArrayRecord(module.state_dict())
        result = strategy.start(grid, arrays, num_rounds=work.all_rounds, evaluate_fn=look)
        module.load_state_dict(result.arrays.to_torch_state_dict())

    run_simulation(
        server,
        client_app(work),
        num_supernodes=work.clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": cores, "include_dashboard": False},
        },
    )
    answer(watch, before, work.loss(module), processes=cores)


if __name__ == "__main__":
    main()
