"""Models without convolutions, for any input shape.

Softmax regression and the 2NN of McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
Data" (section 3), as FedAvg-IC uses them ("Accurate and Fast Federated Learning via IID and Communication-Aware
Grouping", appendix C.1). TornadoAggregate's logistic regression is the same softmax regression; neither has a sigmoid
or softmax of its own, since the loss is cross-entropy on logits.
"""

from __future__ import annotations

from math import prod

from torch import nn

from covey.models.base import MODELS, Shape, TwoPart, perceptron


@MODELS.register("softmax-regression", paper="FedAvg-IC, TornadoAggregate")
def softmax_regression(shape: Shape, classes: int) -> nn.Module:
    """One linear layer: 784-10, 7,850 parameters; any shape."""
    return TwoPart(nn.Flatten(), nn.Linear(prod(shape), classes))


@MODELS.register("2nn", paper="FedAvg-IC")
def two_nn(shape: Shape, classes: int) -> nn.Module:
    """Two hidden layers of 200 ReLU units: 784-200-200-10, 199,210 parameters; any shape."""
    features = nn.Sequential(nn.Flatten(), *perceptron(prod(shape), 200, 200), nn.ReLU())
    return TwoPart(features, nn.Linear(200, classes))
