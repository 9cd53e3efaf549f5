"""The same fleet, method, options and seed give the same groups, from version to version.

A change of any line here changes what users' commands give: it has to be meant, and goes into the changelog.
"""

import numpy as np
import pytest
from tests.grouping.same_groups import SAME

from covey.grouping import GROUPINGS, group

CLIENTS = 24
WORDS = {"yes": True, "no": False}


def fleet():
    """Label mixes, edges, distances between random places, updates around three directions."""
    rng = np.random.default_rng(7)
    labels = rng.multinomial(60, rng.dirichlet([0.4] * 5, CLIENTS).astype(np.float64)) + rng.integers(
        0, 4, (CLIENTS, 5)
    )
    places = rng.random((CLIENTS, 2))
    apart = 1 + np.linalg.norm(places[:, None] - places, axis=-1)
    np.fill_diagonal(apart, 0.0)
    updates = rng.normal(size=(3, 6))[rng.integers(0, 3, CLIENTS)] + 0.4 * rng.normal(size=(CLIENTS, 6))
    return {"labels": labels, "edges": np.arange(CLIENTS) // 12, "distances": apart, "updates": updates}


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return WORDS.get(text, text)


def found(case):
    """The group of every client as a letter, a dot for who is in none; then the heads and the links, if there are any.

    A case is a method, then what it is given (`+updates`) and its options (`groups=4`).
    """
    name, *words = case.split()
    given = fleet()
    labels = given.pop("labels")
    wanted = {word[1:]: given[word[1:]] for word in words if word.startswith("+")}
    options = {key: value(text) for key, _, text in (word.partition("=") for word in words if "=" in word)}
    grouping = group(name, labels, rng=np.random.default_rng(3), **wanted, **options)
    letters = "".join("." if k < 0 else chr(ord("a") + k) for k in grouping.of(CLIENTS))
    heads = "" if grouping.heads is None else " heads " + ",".join(map(str, grouping.heads))
    links = "" if grouping.links is None else " links " + ",".join(f"{a}-{b}" for a, b in grouping.links)
    return letters + heads + links


@pytest.mark.parametrize("case", SAME)
def test_the_groups_are_the_same(case):
    assert found(case) == SAME[case]


def test_every_method_is_here():
    assert {case.split()[0] for case in SAME} == set(GROUPINGS.names)
