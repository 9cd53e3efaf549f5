"""Models for sequences: spoken words and text.

`group-fel-speech`: Group-FEL, section 6.1, "a 5-layer convolutional neural network". Its 26,915 parameters are those
of the M5 of Dai et al., "Very Deep Convolutional Neural Networks for Raw Waveforms", at 32 channels and stride 16.
`shakespeare-rnn`: McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
section 3, as TornadoAggregate uses it. Torch keeps two biases a gate, so there are 822,570 parameters, not 820,522.
"""

from __future__ import annotations

from torch import Tensor, nn

from covey.errors import BadValue
from covey.models.base import MODELS, Shape, TwoPart

SHORTEST_SOUND = 6848
"""16 x 423 + 80: what four poolings by 4 and three convolutions of 3 leave one value of."""


@MODELS.register("group-fel-speech", paper="Group-FEL")
def group_fel_speech(shape: Shape, classes: int) -> nn.Module:
    """Four one-dimensional convolutions with batch normalisation and a mean over time; sound from 6,848 samples."""
    if len(shape) != 2 or shape[1] < SHORTEST_SOUND:
        raise BadValue("shape", shape, f"(channels, samples) with sound from {SHORTEST_SOUND} samples up")
    layers: list[nn.Module] = []
    for inputs, outputs, kernel, stride in ((shape[0], 32, 80, 16), (32, 32, 3, 1), (32, 64, 3, 1), (64, 64, 3, 1)):
        convolution = nn.Conv1d(inputs, outputs, kernel, stride=stride)
        layers += [convolution, nn.BatchNorm1d(outputs), nn.ReLU(), nn.MaxPool1d(4)]
    head = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, classes))
    return TwoPart(nn.Sequential(*layers), head)


@MODELS.register("shakespeare-rnn", paper="McMahan et al., AISTATS 2017; TornadoAggregate")
def shakespeare_rnn(shape: Shape, classes: int) -> nn.Module:
    """Embedding of 8, two LSTM layers of 256, the next character from the last step; characters of any length."""
    if len(shape) != 1:
        raise BadValue("shape", shape, "(length,) with text as whole numbers")
    return TwoPart(Reader(classes), nn.Linear(256, classes))


class Reader(nn.Module):
    """Reads characters, of which there are as many as classes, and keeps what the LSTM holds after the last one."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """One row of 256 a text."""
        steps: Tensor = self.lstm(self.embedding(x))[0]
        return steps[:, -1]
