"""What every registered merge promises."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from covey.merge import MERGES, CannotMerge, Gathering, make_merge

NOT_A_MEAN = {"sum", "updates"}  # their weights mean what they say
NOISY = {"flame", "private"}
NEEDS_COMPANY = {"secure"}
MEANS = [name for name in MERGES.names if name not in NOT_A_MEAN]
shares = st.lists(st.floats(0.1, 10), min_size=2, max_size=6)


def gathering(count: int, weights: tuple[float, ...] = ()) -> Gathering:
    return Gathering(tuple((j,) for j in range(count)), torch.zeros(7), key=1, weights=weights)


def merged(name: str, models: list[torch.Tensor], weights: list[float]) -> torch.Tensor:
    merging = make_merge(name).open(gathering(len(models), tuple(weights)))
    for member, (model, weight) in enumerate(zip(models, weights, strict=True)):
        merging.add(member, model, weight)
    return merging.close(())


def models_of(count: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(7, generator=generator) for _ in range(count)]


@pytest.mark.parametrize("name", MERGES.names)
@settings(max_examples=20, deadline=None)
@given(weights=shares, seed=st.integers(0, 100), data=st.data())
def test_the_order_does_not_matter(name, weights, seed, data):
    models = models_of(len(weights), seed)
    order = data.draw(st.permutations(range(len(weights))))
    shuffled = merged(name, [models[j] for j in order], [weights[j] for j in order])
    torch.testing.assert_close(shuffled, merged(name, models, weights), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in MERGES.names if name not in NOISY - {"flame"} | NEEDS_COMPANY])
def test_one_model_comes_out_as_it_went_in(name):
    (model,) = models_of(1, 0)
    found = merged(name, [model], [1.0])
    assert torch.equal(found, model)
    found += 1
    assert not torch.equal(found, model)


@pytest.mark.parametrize("name", MEANS)
@settings(max_examples=20, deadline=None)
@given(weights=shares, seed=st.integers(0, 100), scale=st.floats(0.01, 100))
def test_only_the_ratio_of_weights_matters(name, weights, seed, scale):
    models = models_of(len(weights), seed)
    scaled = merged(name, models, [scale * w for w in weights])
    torch.testing.assert_close(scaled, merged(name, models, weights), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in MEANS if name not in NOISY])
@settings(max_examples=20, deadline=None)
@given(weights=shares)
def test_equal_models_give_that_model(name, weights):
    model = torch.tensor([1.0, -2.0, 3.5, 0.0, 1.0, 2.0, -1.0])
    torch.testing.assert_close(merged(name, [model.clone() for _ in weights], weights), model)


@pytest.mark.parametrize("name", MERGES.names)
def test_what_goes_in_is_not_changed(name):
    models = models_of(3, 0)
    before = [model.clone() for model in models]
    merged(name, models, [1.0, 2.0, 3.0])
    assert all(torch.equal(a, b) for a, b in zip(models, before, strict=True))


@pytest.mark.parametrize("name", MERGES.names)
def test_nothing_to_merge_is_a_mistake(name):
    with pytest.raises(CannotMerge, match="no model came in"):
        make_merge(name).open(gathering(2)).close((0, 1))


def test_the_merges_that_say_so_take_a_mean_in_place_of_its_models():
    several = [name for name in MERGES.names if getattr(make_merge(name), "averages", False)]
    assert several == ["mean", "sum", "updates"]
    a, b, c = models_of(3, 0)
    part = (2 * a + 3 * b) / (2 + 3)
    for name in several:
        whole = merged(name, [a, b, c], [2.0, 3.0, 4.0])
        torch.testing.assert_close(merged(name, [part, c], [2.0 + 3.0, 4.0]), whole, rtol=1e-5, atol=1e-6)
