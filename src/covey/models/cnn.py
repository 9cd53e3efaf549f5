"""The papers' plain convolutional networks.

`fedavg-ic-cnn`: FedAvg-IC, "Accurate and Fast Federated Learning via IID and Communication-Aware Grouping", app. C.1.
`mcmahan-cnn`: McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", section 3.
`femnist-cnn`, `celeba-cnn`: Caldas et al., "LEAF: A Benchmark for Federated Settings"; FedGSP trains the former,
FedAvg-IC the latter (its "124,808 parameters" are bytes).
`ihc-cnn`: IHC-FL, section IV; the paper names neither hidden layers nor activation: LeNet-5's 120 and 84 units, ReLU.
"""

from __future__ import annotations

from torch import nn

from covey.models.base import MODELS, Shape, TwoPart, image, perceptron


@MODELS.register("fedavg-ic-cnn", paper="FedAvg-IC")
def fedavg_ic_cnn(shape: Shape, classes: int) -> nn.Module:
    """Two valid 5x5 convolutions of 64 channels with local response normalisation, 256 units; images from 16 x 16."""
    channels, height, width = image(shape, smallest=16)
    features = nn.Sequential(
        *(nn.Conv2d(channels, 64, 5), nn.ReLU(), nn.MaxPool2d(2), _response_norm()),
        *(nn.Conv2d(64, 64, 5), nn.ReLU(), _response_norm(), nn.MaxPool2d(2)),
    )
    flat = 64 * _after_two_valid(height) * _after_two_valid(width)
    return TwoPart(features, nn.Sequential(nn.Flatten(), *perceptron(flat, 256, classes)))


@MODELS.register("mcmahan-cnn", paper="McMahan et al., AISTATS 2017")
def mcmahan_cnn(shape: Shape, classes: int) -> nn.Module:
    """Two same-padded 5x5 convolutions of 32 and 64 channels, 512 units; images from 4 x 4."""
    return _two_same_convolutions(shape, 512, classes)


@MODELS.register("femnist-cnn", paper="LEAF; FedGSP")
def femnist_cnn(shape: Shape, classes: int) -> nn.Module:
    """The McMahan CNN with 2,048 hidden units; images from 4 x 4."""
    return _two_same_convolutions(shape, 2048, classes)


@MODELS.register("celeba-cnn", paper="LEAF; FedAvg-IC")
def celeba_cnn(shape: Shape, classes: int) -> nn.Module:
    """Four same-padded 3x3 convolutions of 32 channels with batch normalisation; any image."""
    channels, height, width = image(shape)
    layers: list[nn.Module] = []
    for inputs in (channels, 32, 32, 32):
        # LEAF pools with "same" padding, so odd sizes round up: 84, 42, 21, 11, 6.
        pool = nn.MaxPool2d(2, ceil_mode=True)
        layers += [nn.Conv2d(inputs, 32, 3, padding="same"), nn.BatchNorm2d(32), pool, nn.ReLU()]
        height, width = -(-height // 2), -(-width // 2)
    return TwoPart(nn.Sequential(*layers), nn.Sequential(nn.Flatten(), nn.Linear(32 * height * width, classes)))


@MODELS.register("ihc-cnn", paper="IHC-FL")
def ihc_cnn(shape: Shape, classes: int) -> nn.Module:
    """LeNet-5: two valid 5x5 convolutions of 6 and 16 channels, 120 and 84 units; images from 16 x 16."""
    channels, height, width = image(shape, smallest=16)
    features = nn.Sequential(
        *(nn.Conv2d(channels, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
    )
    flat = 16 * _after_two_valid(height) * _after_two_valid(width)
    return TwoPart(features, nn.Sequential(nn.Flatten(), *perceptron(flat, 120, 84, classes)))


MODELS.add("lenet", ihc_cnn, summary="Another name of ihc-cnn.", paper="IHC-FL")


def _two_same_convolutions(shape: Shape, hidden: int, classes: int) -> nn.Module:
    channels, height, width = image(shape, smallest=4)
    features = nn.Sequential(
        *(nn.Conv2d(channels, 32, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)),
    )
    flat = 64 * (height // 4) * (width // 4)
    return TwoPart(features, nn.Sequential(nn.Flatten(), *perceptron(flat, hidden, classes)))


def _after_two_valid(size: int) -> int:
    """What two times (5x5 without padding, then pool by 2) leaves of that many pixels: 28, 24, 12, 8, 4."""
    return ((size - 4) // 2 - 4) // 2


def _response_norm() -> nn.LocalResponseNorm:
    """TensorFlow's `lrn(depth_radius=4, bias=1, alpha=0.001/9, beta=0.75)`.

    A radius of 4 is a window of 9 channels, and torch divides its alpha by the window.
    """
    return nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0)
