import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.models import MODELS
from covey.models.base import image

# The smallest image of every model for images.
SMALLEST = {
    "fedavg-ic-cnn": 16,
    "mcmahan-cnn": 4,
    "femnist-cnn": 4,
    "celeba-cnn": 1,
    "ihc-cnn": 16,
    "group-fel-resnet": 1,
    "group-fel-small": 17,
}


def logits(name: str, shape: tuple[int, ...], classes: int) -> torch.Size:
    with torch.device("meta"):
        return MODELS[name](shape, classes).eval()(torch.zeros(2, *shape)).shape


@pytest.mark.parametrize("name", SMALLEST)
@settings(max_examples=8, deadline=None)
@given(st.data())
def test_convolutions_fit_every_image_from_the_smallest_up(name, data):
    smallest = SMALLEST[name]
    sizes = st.integers(smallest, smallest + 30)
    channels = data.draw(st.integers(1, 4))
    classes = data.draw(st.integers(2, 70))
    assert logits(name, (channels, data.draw(sizes), data.draw(sizes)), classes) == (2, classes)


@pytest.mark.parametrize("name", SMALLEST)
def test_one_pixel_less_is_too_small(name):
    smallest = SMALLEST[name]
    assert logits(name, (1, smallest, smallest), 10) == (2, 10)
    with pytest.raises(BadValue, match=f"images from {smallest} x {smallest} up"):
        MODELS[name]((1, smallest, smallest - 1), 10)


@pytest.mark.parametrize("name", SMALLEST)
@pytest.mark.parametrize("shape", [(64,), (1, 64), (1, 1, 64, 64)])
def test_what_is_no_image_is_refused(name, shape):
    with pytest.raises(BadValue, match="shape"):
        MODELS[name](shape, 10)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None)
def test_dense_models_take_any_shape(shape):
    assert logits("softmax-regression", tuple(shape), 3) == (2, 3)
    assert logits("2nn", tuple(shape), 3) == (2, 3)


def test_image_gives_its_three_numbers():
    assert image((3, 20, 30), smallest=20) == (3, 20, 30)
