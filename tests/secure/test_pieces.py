"""Fixed point, Shamir's shares, masks, seals, noise and the sparse graph, each on its own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import BadValue
from covey.secure import shamir
from covey.secure.fixed import FixedPoint
from covey.secure.graph import connected, ring, sparse
from covey.secure.keys import BLOCK, KeyPair, mask, seal, unseal
from covey.secure.noise import discrete_gaussian

ENTROPY = np.random.default_rng(0).bytes


@given(st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=20), st.integers(1, 50))
def test_sums_of_fixed_point_numbers_are_sums_of_the_values(values, numbers):
    fixed = FixedPoint.fitting(8.0, numbers)
    words, clipped = fixed.encode(values)
    total = fixed.decode(words * np.uint32(numbers))
    assert clipped == 0
    # every number is off by half a level at most
    assert np.abs(total - numbers * np.array(values)).max() <= numbers * fixed.resolution / 2 + 1e-12


def test_the_largest_values_of_the_most_numbers_do_not_wrap_around():
    for numbers in (1, 2, 3, 16, 1000):
        fixed = FixedPoint.fitting(8.0, numbers)
        assert fixed.room(numbers)
        assert 2 * fixed.levels * numbers >= 2**32
        for value in (-8.0, 8.0):
            words, _ = fixed.encode([value])
            assert fixed.decode(words * np.uint32(numbers)).tolist() == [numbers * value]


def test_values_outside_are_clipped_and_counted_and_nan_is_refused():
    words, clipped = FixedPoint(1.0, 2**20).encode([0.5, 3.0, -1.5, 1.0])
    assert FixedPoint(1.0, 2**20).decode(words).tolist() == [0.5, 1.0, -1.0, 1.0]
    assert clipped == 2
    with pytest.raises(BadValue, match="finite"):
        FixedPoint().encode([np.nan])
    with pytest.raises(BadValue, match="clip"):
        FixedPoint(clip=0)
    with pytest.raises(BadValue, match="levels"):
        FixedPoint(levels=2**32)


@given(st.binary(min_size=32, max_size=32), st.integers(1, 12), st.data())
def test_any_threshold_of_the_shares_give_the_secret(secret, count, data):
    threshold = data.draw(st.integers(1, count))
    points = data.draw(st.lists(st.integers(1, 2**31 - 2), min_size=count, max_size=count, unique=True))
    shares = shamir.split(secret, points, threshold, ENTROPY)
    chosen = data.draw(st.permutations(points))[:threshold]
    assert shamir.combine({x: shares[x] for x in chosen}) == secret


def test_one_share_too_few_tells_nothing():
    """Any secret fits: for every other secret there is a last share that makes it."""
    secret = bytes(range(32))
    shares = shamir.split(secret, [1, 2, 3], 3, ENTROPY)
    guesses = {
        shamir.combine({1: shares[1], 2: shares[2], 3: shamir.split(bytes([k] * 32), [3], 1, ENTROPY)[3]})
        for k in range(50)
    }
    assert len(guesses) == 50
    assert secret not in guesses
    assert shamir.combine({1: shares[1], 2: shares[2]}) != secret


def test_shares_of_one_secret_are_new_every_time():
    first, second = (shamir.split(bytes(32), [1, 2], 2, ENTROPY) for _ in range(2))
    assert first[1] != second[1]


@pytest.mark.parametrize(
    ("secret", "points", "threshold", "fault"),
    [
        (b"short", [1, 2], 2, "secret"),
        (bytes(32), [1, 2], 3, "threshold"),
        (bytes(32), [1, 1], 2, "points"),
        (bytes(32), [0, 1], 2, "points"),
    ],
)
def test_what_cannot_be_shared_is_refused(secret, points, threshold, fault):
    with pytest.raises(BadValue, match=fault):
        shamir.split(secret, points, threshold, ENTROPY)


@pytest.mark.parametrize("count", [1, 7, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_a_mask_taken_away_leaves_the_vector(count):
    vector = np.arange(count, dtype=np.uint32)
    masked = mask(vector.copy(), bytes(31) + b"\1")
    assert (masked != vector).mean() > 0.99 or count < 10
    assert (mask(masked, bytes(31) + b"\1", subtract=True) == vector).all()


def test_masks_are_chacha20():
    """The first block of RFC 8439's appendix A.1, test vector 1: key, nonce and counter all zero."""
    words = mask(np.zeros(4, dtype=np.uint32), bytes(32))
    assert words.tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28"


def test_both_sides_agree_and_others_do_not():
    a, b, c = (KeyPair(bytes([k] * 32)) for k in (1, 2, 3))
    key = a.agree(b.public, b"session", "sealing 0 1")
    assert key == b.agree(a.public, b"session", "sealing 0 1")
    others = [
        c.agree(b.public, b"session", "sealing 0 1"),
        a.agree(b.public, b"another", "sealing 0 1"),
        a.agree(b.public, b"session", "masking 0 1"),
    ]
    assert key not in others
    assert bytes([1] * 32).hex() not in repr(a)
    assert "\\x01" not in repr(a)
    with pytest.raises(BadValue, match="public key"):
        a.agree(bytes(32), b"session", "sealing")  # a point that agrees with everybody on the same key


def test_a_seal_opens_only_whole_and_in_its_context():
    key = bytes(32)
    sealed = seal(key, b"shares", b"from 0 to 1", ENTROPY)
    assert unseal(key, sealed, b"from 0 to 1") == b"shares"
    assert unseal(key, sealed, b"from 2 to 1") is None
    assert unseal(bytes(31) + b"\1", sealed, b"from 0 to 1") is None
    assert unseal(key, sealed[:20], b"from 0 to 1") is None
    for spot in (0, 15, len(sealed) - 1):
        tampered = bytearray(sealed)
        tampered[spot] ^= 1
        assert unseal(key, bytes(tampered), b"from 0 to 1") is None


def test_discrete_gaussian_has_its_chances():
    """Counts against exp(-k^2 / 2 s^2) / sum: each within five standard deviations of a binomial."""
    sigma, draws = 1.5, 40_000
    drawn = discrete_gaussian(sigma, draws, bytes(31) + b"\7")
    weights = {k: np.exp(-(k**2) / (2 * sigma**2)) for k in range(-20, 21)}
    for k in range(-4, 5):
        chance = weights[k] / sum(weights.values())
        assert abs((drawn == k).sum() - draws * chance) < 5 * np.sqrt(draws * chance * (1 - chance))


def test_noise_repeats_for_a_seed_and_differs_between_seeds():
    first, again, other = (discrete_gaussian(50.0, 200, bytes(31) + bytes([k])) for k in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    assert len(discrete_gaussian(2.0, 0, bytes(32))) == 0
    with pytest.raises(BadValue, match="noise"):
        discrete_gaussian(0.0, 1, bytes(32))


@given(st.integers(4, 40), st.integers(1, 6), st.integers(0, 5))
def test_ring_neighbours_are_mutual_and_as_many_as_asked(clients, half, seed):
    near = ring(range(10, 10 + clients), 2 * half, np.random.default_rng(seed))
    for u, others in near.items():
        assert len(set(others)) == len(others) == min(2 * half, clients - 1)
        assert u not in others
        assert all(u in near[v] for v in others)
    assert connected(near, near)


def test_connected_sees_a_cut():
    near = ring(range(6), 2, np.random.default_rng(0))
    order = [0, near[0][0]]
    while len(order) < 6:
        order.append(next(v for v in near[order[-1]] if v != order[-2]))
    assert connected(order[:5], near)
    assert not connected([order[0], order[1], order[3], order[4]], near)


def test_sparse_degree_grows_with_the_logarithm():
    degrees = [sparse(n)[0] for n in (100, 1_000, 10_000)]
    assert degrees == sorted(degrees)
    assert degrees[2] < 3 * degrees[0]
    for n in (50, 500):
        degree, threshold = sparse(n)
        assert degree + 1 < 2 * threshold <= 2 * degree
    with pytest.raises(BadValue, match="third"):
        sparse(100, dropouts=0.5)
