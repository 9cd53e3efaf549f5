"""The five models as plain torch modules, for environments that have no covey; a test holds them equal to covey's."""

from __future__ import annotations

from torch import Tensor, nn


class CharLstm(nn.Module):
    """McMahan et al. 2017: embedding of 8, two LSTM layers of 256, the next of 90 characters from the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(90, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 90)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.lstm(self.embedding(x))[0][:, -1])
        return logits


def softmax_regression() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


def two_nn() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10)
    )


def lenet() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )


def mcmahan_cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 10)),
    )


NETWORKS = {
    "softmax-regression": softmax_regression,
    "2nn": two_nn,
    "lenet": lenet,
    "mcmahan-cnn": mcmahan_cnn,
    "char-lstm": CharLstm,
}
COVEY_NAMES = {"char-lstm": "shakespeare-rnn"}
"""What covey calls a model, where that is another name."""
