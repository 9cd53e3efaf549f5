"""Every model at its paper's input: parameters counted by hand, and the shape of what comes out."""

import pytest
import torch
from tests.narrow import a
from torch import nn

from covey.models import MODELS, TwoPart

# name: (shape, classes, parameters), with the sum written out layer by layer.
AT_THE_PAPER = {
    "softmax-regression": ((1, 28, 28), 10, 784 * 10 + 10),
    "2nn": ((1, 28, 28), 10, (784 * 200 + 200) + (200 * 200 + 200) + (200 * 10 + 10)),
    "fedavg-ic-cnn": (
        (1, 28, 28),
        10,
        (25 * 64 + 64) + (64 * 25 * 64 + 64) + (4 * 4 * 64 * 256 + 256) + (256 * 10 + 10),
    ),
    "mcmahan-cnn": (
        (1, 28, 28),
        10,
        (25 * 32 + 32) + (32 * 25 * 64 + 64) + (7 * 7 * 64 * 512 + 512) + (512 * 10 + 10),
    ),
    "femnist-cnn": (
        (1, 28, 28),
        62,
        (25 * 32 + 32) + (32 * 25 * 64 + 64) + (7 * 7 * 64 * 2048 + 2048) + (2048 * 62 + 62),
    ),
    "celeba-cnn": ((3, 84, 84), 2, (27 * 32 + 32) + 3 * (9 * 32 * 32 + 32) + 4 * 2 * 32 + (6 * 6 * 32 * 2 + 2)),
    "shakespeare-rnn": (
        (80,),
        90,
        90 * 8 + 4 * 256 * (8 + 256 + 2) + 4 * 256 * (256 + 256 + 2) + (256 * 90 + 90),
    ),
    "ihc-cnn": (
        (1, 28, 28),
        10,
        (25 * 6 + 6) + (6 * 25 * 16 + 16) + (4 * 4 * 16 * 120 + 120) + (120 * 84 + 84) + (84 * 10 + 10),
    ),
    "group-fel-resnet": (
        (3, 32, 32),
        10,
        9 * (3 * 16 + 6 * 16 * 16 + (16 * 32 + 5 * 32 * 32) + (32 * 64 + 5 * 64 * 64))
        + 3 * (7 * 16 + 6 * 32 + 6 * 64)  # a bias, a scale and a shift for every channel
        + (64 * 10 + 10),
    ),
    "group-fel-small": (
        (1, 28, 28),
        10,
        9 * (8 + 2 * 8 * 8 + (8 * 16 + 16 * 16) + (16 * 32 + 32 * 32))
        + 3 * (3 * 8 + 2 * 16 + 2 * 32)
        + (3 * 3 * 32 * 10 + 10),
    ),
    "group-fel-speech": (
        (1, 8000),
        35,
        (80 * 32 + 3 * 32 * 32 + 3 * 32 * 64 + 3 * 64 * 64) + 3 * (32 + 32 + 64 + 64) + (64 * 35 + 35),
    ),
}
AT_THE_PAPER["lenet"] = AT_THE_PAPER["ihc-cnn"]

PUBLISHED = {
    "softmax-regression": 7_850,
    "2nn": 199_210,
    "fedavg-ic-cnn": 369_098,
    "mcmahan-cnn": 1_663_370,
    "femnist-cnn": 6_603_710,
    "celeba-cnn": 31_202,
    "shakespeare-rnn": 822_570,
    "ihc-cnn": 44_426,
    "lenet": 44_426,
    "group-fel-resnet": 270_410,
    "group-fel-small": 21_754,
    "group-fel-speech": 26_915,
}


def on_meta(name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    with torch.device("meta"):
        return MODELS[name](shape, classes).eval()


def made_up(name: str, batch: int, shape: tuple[int, ...]) -> torch.Tensor:
    if name == "shakespeare-rnn":  # a few characters: the meta device unrolls an LSTM
        return torch.zeros(batch, 3, dtype=torch.int64, device="meta")
    return torch.zeros(batch, *shape, device="meta")


def test_every_model_is_here():
    assert set(MODELS.names) == set(AT_THE_PAPER) == set(PUBLISHED)


@pytest.mark.parametrize("name", MODELS.names)
def test_parameters_are_the_published_ones(name):
    shape, classes, by_hand = AT_THE_PAPER[name]
    counted = sum(p.numel() for p in on_meta(name, shape, classes).parameters())
    assert counted == by_hand == PUBLISHED[name]


@pytest.mark.parametrize("name", MODELS.names)
def test_head_of_features_is_the_model_and_its_last_layer_has_one_row_a_class(name):
    shape, classes, _ = AT_THE_PAPER[name]
    model = on_meta(name, shape, classes)
    assert isinstance(model, TwoPart)
    x = made_up(name, 3, shape)
    assert model(x).shape == model.head(model.features(x)).shape == (3, classes)
    last = [layer for layer in model.head.modules() if isinstance(layer, nn.Linear)][-1]
    assert last.out_features == classes


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("fedavg-ic-cnn", (64, 4, 4)),
        ("mcmahan-cnn", (64, 7, 7)),
        ("femnist-cnn", (64, 7, 7)),
        ("celeba-cnn", (32, 6, 6)),
        ("ihc-cnn", (16, 4, 4)),
        ("group-fel-resnet", (64, 8, 8)),
        ("group-fel-small", (32, 7, 7)),
        ("group-fel-speech", (64, 1)),
    ],
)
def test_convolution_stacks_leave_channels_and_positions(name, features):
    shape, classes, _ = AT_THE_PAPER[name]
    model = on_meta(name, shape, classes)
    assert a(TwoPart, model).features(made_up(name, 2, shape)).shape == (2, *features)


@pytest.mark.parametrize("name", MODELS.names)
def test_nothing_works_in_place_and_nothing_drops_out(name):
    shape, classes, _ = AT_THE_PAPER[name]
    for part in on_meta(name, shape, classes).modules():
        assert not getattr(part, "inplace", False)
        assert "Dropout" not in type(part).__name__
