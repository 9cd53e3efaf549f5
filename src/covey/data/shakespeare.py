"""The next character in Shakespeare's plays, by speaking role.

McMahan et al. 2017, "Communication-Efficient Learning of Deep Networks from Decentralized Data", section 3: sequences
of 80 characters, the target is the one that follows. Read from FedShakespeare (`examples/<role>/snippets` in two h5
files, the set TornadoAggregate used) and from LEAF's JSON. The 90 symbols are numbered as FedML does: 0 pads, then the
86 characters of TensorFlow Federated, begin, end, and one for any other character.

What departs: FedML pads every snippet, which would make padding the commonest target; here a role's snippets are one
text, with begin and end marks between them, cut into pieces of 81.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import DATASETS, Dataset, Layout, Source
from covey.data.files import Remote, reading
from covey.data.leaf import layouts
from covey.data.users import Samples, by_user
from covey.errors import BadData

LENGTH = 80
CHARACTERS = "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"
PAD, BEGIN, END, OTHER = 0, len(CHARACTERS) + 1, len(CHARACTERS) + 2, len(CHARACTERS) + 3
SYMBOLS = OTHER + 1

_NUMBER = np.full(256, OTHER, dtype=np.int64)
_NUMBER[[ord(character) for character in CHARACTERS]] = np.arange(1, BEGIN)


def encode(text: str) -> NDArray[np.int64]:
    """The numbers of a text's characters.

    >>> encode("dh~\N{EURO SIGN}").tolist(), SYMBOLS
    ([1, 2, 89, 89], 90)
    """
    return _NUMBER[np.minimum(np.frombuffer(text.encode("utf-32-le"), np.uint32), 255)]


def cut(snippets: Iterable[str]) -> Samples:
    """A role's snippets as one text in pieces of 81 symbols: 80 to read, 1 to guess; the rest at the end is dropped.

    A role that says less than that gives one piece, padded in front.
    """
    marked = [np.concatenate(([BEGIN], encode(snippet), [END])) for snippet in snippets if snippet]
    if not marked:
        return np.empty((0, LENGTH), np.int64), np.empty(0, np.int64)
    text = np.concatenate(marked)[:-1]
    pieces = max(1, len(text) // (LENGTH + 1))
    text = np.concatenate((np.full(max(0, LENGTH + 1 - len(text)), PAD), text))
    cuts = text[: pieces * (LENGTH + 1)].reshape(pieces, LENGTH + 1)
    return cuts[:, :-1], cuts[:, -1]


def read(folder: Path) -> Dataset:
    """FedShakespeare: every role has train and test snippets."""
    train, test = (_roles(folder / f"shakespeare_{split}.h5") for split in ("train", "test"))
    return by_user("shakespeare", train, test, classes=SYMBOLS)


def _roles(path: Path) -> dict[str, Samples]:
    import h5py  # here, for other data sets do not need it

    with reading(path, "FedShakespeare"), h5py.File(path) as file:
        return {
            role: cut(snippet.decode("utf-8", "replace") for snippet in held["snippets"][()])
            for role, held in file["examples"].items()
        }


def leaf_sequences(x: Sequence[Any], y: Sequence[Any], _: Path) -> Samples:
    """LEAF's form: strings of 80 characters, and the character after each."""
    if any(len(line) != LENGTH for line in x) or any(len(following) != 1 for following in y):
        raise BadData(f"shakespeare has a sequence that is not {LENGTH} characters and 1 more: replace its files")
    return encode("".join(x)).reshape(-1, LENGTH), encode("".join(y))


DATASETS.add(
    "shakespeare",
    Source(
        layouts=(
            Layout(("shakespeare_train.h5", "shakespeare_test.h5"), read),
            *layouts("shakespeare", leaf_sequences, classes=SYMBOLS),
        ),
        samples=33_326,
        upstream=(
            Remote(
                "shakespeare.tar.bz2",
                "https://storage.googleapis.com/tff-datasets-public/shakespeare.tar.bz2",
                "sha256:0285be9906cb5f268092eee4edeeacfc2af4574f2941f7cc2f08a321d7f5c707",
                unpack=("shakespeare_train.h5", "shakespeare_test.h5"),
            ),
        ),
        by_hand="put LEAF's data/shakespeare folder there",
    ),
    summary="next of 90 characters, by role",
    paper="McMahan et al. 2017; Caldas et al. 2018 (LEAF)",
)
