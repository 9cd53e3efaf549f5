"""Clipped updates with noise: by hand, and what the noise comes to."""

from collections import Counter

import pytest
import torch

from covey.errors import BadValue
from covey.merge import CannotMerge, Gathering, make_merge


def merged(word, models, start, key=1):
    gathering = Gathering(tuple((j,) for j in range(len(models))), torch.tensor(start), key=key)
    merging = make_merge(word).open(gathering)
    for member, model in enumerate(models):
        merging.add(member, torch.tensor(model), 1.0 + member)
    return merging.close(())


def test_updates_are_cut_to_the_norm_and_count_alike():
    """From (1, 1): updates (6, 8) of length 10 and (0, 0), norm 5: (3, 4) / 2, whatever the weights."""
    found = merged("private:norm=5,noise=1e-9", [[7.0, 9.0], [1.0, 1.0]], [1.0, 1.0])
    assert torch.allclose(found, torch.tensor([2.5, 3.0]), atol=1e-5)


def test_noise_on_the_sum_is_noise_times_norm():
    """Four updates of nothing: deviation 0.5 x 3 / 4."""
    found = merged("private:norm=3,noise=0.5", [[0.0] * 5000] * 4, [0.0] * 5000)
    assert abs(float(found.std()) / (0.5 * 3 / 4) - 1) < 0.05
    assert torch.equal(found, merged("private:norm=3,noise=0.5", [[0.0] * 5000] * 4, [0.0] * 5000))
    assert not torch.equal(found, merged("private:norm=3,noise=0.5", [[0.0] * 5000] * 4, [0.0] * 5000, key=2))


def test_what_is_drawn_is_added():
    drawn = torch.randn(3, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    found = merged("private:norm=3,noise=0.5", [[1.0] * 3] * 2, [1.0] * 3, key=7)  # nobody has moved
    assert torch.allclose(found, 1.0 + 1.5 * drawn.float() / 2)


def test_who_was_cut_is_counted():
    counts: Counter[str] = Counter()
    start = torch.zeros(2)
    merging = make_merge("private:norm=5").open(
        Gathering(((0,), (1,), (2,)), start, count=lambda name, amount: counts.update({name: amount}))
    )
    for member, model in enumerate(([6.0, 8.0], [3.0, 4.0], [30.0, 0.0])):  # lengths 10, 5 and 30
        merging.add(member, torch.tensor(model), 1.0)
    merging.close(())
    assert counts == {"clipped_models": 2}


def test_nobody_is_a_fault():
    with pytest.raises(CannotMerge):
        make_merge("private").open(Gathering(((0,),), torch.zeros(1))).close((0,))


@pytest.mark.parametrize(
    "word", ["private:norm=0", "private:norm=inf", "private:noise=0", "private:delta=0", "private:delta=1"]
)
def test_settings_without_privacy_are_refused(word):
    with pytest.raises(BadValue):
        make_merge(word)
