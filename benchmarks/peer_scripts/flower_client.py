"""What a Flower client does; apart from `run_flower.py`, because Ray's processes import it by name."""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F  # noqa: N812
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from work import Work


@cache
def kept(work: Work) -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    """The model and the data, made once in each of Ray's processes."""
    torch.set_num_threads(1)
    return work.build(), *work.tensors()


def client_app(work: Work) -> ClientApp:
    """Train on the samples of the node's partition and send the model back."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        module, x, y = kept(work)
        module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(module.parameters(), lr=work.lr)
        own = work.rows(int(context.node_config["partition-id"]))
        for batch in (own.start + torch.randperm(work.samples)).split(work.batch):
            optimiser.zero_grad()
            F.cross_entropy(module(x[batch]), y[batch]).backward()
            optimiser.step()
        metrics = MetricRecord({"num-examples": work.samples})
        content = RecordDict({"arrays": ArrayRecord(module.state_dict()), "metrics": metrics})
        return Message(content, reply_to=message)

    return app
