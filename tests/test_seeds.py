"""Seeds: the arithmetic of the hash, and that nothing of a purpose is lost in a key."""

from typing import Any

import numpy as np

from covey import seeds

WORD = 2**64


def splitmix64(state):
    """The published generator's step (Steele, Lea and Flood, OOPSLA 2014), in whole numbers without end."""
    state = (state + 0x9E3779B97F4A7C15) % WORD
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) % WORD
    return state ^ (state >> 31)


def test_mix_is_splitmix64_over_the_words():
    assert splitmix64(1234567) == 6457827717110365317  # the first number of the reference implementation for that seed
    assert int(seeds.mix(1234567, 0)) == splitmix64(1234567)
    assert int(seeds.mix(5, 7)) == splitmix64(5 ^ 7)
    assert int(seeds.mix(5, 7, 9)) == splitmix64(splitmix64(5 ^ 7) ^ 9)


def test_mix_takes_arrays_element_by_element():
    words = np.array([0, 3, 2**40])
    assert seeds.mix(11, words, 2).tolist() == [splitmix64(splitmix64(11 ^ int(word)) ^ 2) for word in words]
    assert int(seeds.mix(11)) == 11


def test_every_word_of_a_purpose_counts():
    purposes: list[tuple[Any, ...]] = [
        (0, "plan"),
        (0, "plan", 0),
        (1, "plan"),
        (0, 1, "plan"),
        (0, "pla", "n"),
        (10, "plan"),
        (1, 0, "plan"),
    ]
    keys = [seeds.key(*purpose) for purpose in purposes]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 2**63 for key in keys)
    assert max(seeds.key(seed) for seed in range(200)) > 2**62  # all 63 bits are used


def test_a_generator_is_that_of_its_key():
    assert seeds.generator(3, 2, "x").random() == np.random.default_rng(seeds.key(3, 2, "x")).random()
