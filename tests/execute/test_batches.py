from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.execute.batches import Deck
from covey.fleet import FleetData

sizes = st.lists(st.integers(0, 25), min_size=1, max_size=5).filter(any)
batch = st.integers(0, 12)
epochs = st.integers(1, 3)


def deck_of(sizes, batch):
    ends = np.cumsum(sizes)
    train_of = tuple(100 + np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True))
    pool = np.zeros(100 + ends[-1], np.int64)
    return Deck(FleetData("none", pool, pool, pool, pool, train_of, train_of, 1), batch)


def deal(deck, clients, visits=0, epochs=1, base=7):
    """For every client the list of its batches."""
    whole = np.array(clients)
    dealt = deck.deal(
        np.full_like(whole, base), whole, np.full_like(whole, visits), np.broadcast_to(epochs, whole.shape)
    )
    valid = np.ones(dealt.samples.shape) if dealt.valid is None else dealt.valid.numpy()
    rows = [
        [s[v > 0].tolist() for s, v in zip(own, counts, strict=True) if v.any()]
        for own, counts in zip(dealt.samples.numpy(), valid, strict=True)
    ]
    if dealt.active is not None:
        assert (dealt.active.numpy() == (valid.sum(axis=-1) > 0)).all()
    return rows


@given(sizes, batch, epochs)
def test_every_epoch_visits_every_sample_once(sizes, batch, epochs):
    deck = deck_of(sizes, batch)
    full = batch or max(sizes)
    for i, batches in enumerate(deal(deck, range(len(sizes)), epochs=epochs)):
        steps = -(-sizes[i] // full)
        assert len(batches) == deck.steps(i, epochs) == steps * epochs
        own = sorted(100 + sum(sizes[:i]) + k for k in range(sizes[i]))
        for e in range(epochs):
            epoch = batches[e * steps : (e + 1) * steps]
            assert sorted(chain(*epoch)) == own
            assert [len(part) for part in epoch[:-1]] == [full] * (steps - 1)


@given(sizes, batch, st.data())
def test_batches_do_not_depend_on_who_else_is_in_the_wave(sizes, batch, data):
    deck = deck_of(sizes, batch)
    everybody = list(range(len(sizes)))
    wave = data.draw(st.lists(st.sampled_from(everybody), min_size=1, max_size=6))
    counts = data.draw(st.lists(epochs, min_size=len(wave), max_size=len(wave)))
    together = deal(deck, wave, visits=3, epochs=counts)
    assert together == [deal(deck, [i], visits=3, epochs=[n])[0] for i, n in zip(wave, counts, strict=True)]


def test_batches_depend_on_round_client_visit_and_epoch():
    deck = deck_of([20, 20], 5)
    (once, other), (again, _) = deal(deck, [0, 1], epochs=2), deal(deck, [0, 1], epochs=2)
    assert once == again
    orders = [
        once[:4],
        once[4:],
        [[k - 20 for k in part] for part in other[:4]],
        deal(deck, [0], visits=1)[0],
        deal(deck, [0], base=8)[0],
    ]
    assert len({str(order) for order in orders}) == len(orders)
    assert all(sorted(chain(*order)) == list(range(100, 120)) for order in orders)


@pytest.mark.parametrize(("sizes", "batch"), [([10, 10], 5), ([7, 7], 0)])
def test_nothing_is_masked_where_all_batches_are_full(sizes, batch):
    deck = deck_of(sizes, batch)
    dealt = deck.deal(np.array([0, 0]), np.array([0, 1]), np.array([0, 0]), np.array([2, 2]))
    assert dealt.valid is None
    assert dealt.active is None


def test_every_order_is_equally_likely():
    """Three samples have six orders; 6,000 visits give 1,000 each, give or take five standard deviations of 28.9."""
    deck = deck_of([3], 3)
    visits = np.arange(6000)
    dealt = (
        deck.deal(np.ones_like(visits), np.zeros_like(visits), visits, np.ones_like(visits))
        .samples.reshape(6000, 3)
        .numpy()
    )
    _, counts = np.unique(dealt, axis=0, return_counts=True)
    assert len(counts) == 6
    assert (abs(counts - 1000) < 5 * 28.9).all()
