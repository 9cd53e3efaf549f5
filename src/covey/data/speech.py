"""Spoken words by speaker: Speech Commands and the Free Spoken Digit Dataset, as raw sound in [-1, 1].

Warden 2018, "Speech Commands: A Dataset for Limited-Vocabulary Speech Recognition", section 7: 35 words at 16 kHz, the
speaker is the hash before `_nohash_`, `testing_list.txt` is the test set, `validation_list.txt` belongs to neither
split. Jackson et al. 2018, "Free Spoken Digit Dataset": `{digit}_{speaker}_{n}.wav` at 8 kHz, n < 5 is the test set.
Every recording is one second: cut at the end, or followed by silence. Both are read from a folder or from an archive.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covey.data.datasets import DATASETS, Dataset, Layout, Source
from covey.data.files import Remote, contents, members, reading
from covey.errors import BadData

Sound = NDArray[np.int16]
# class, speaker, whether it is for testing, sound
Row = tuple[int, str, bool, Sound]


def read_wav(data: bytes, rate: int, path: Path) -> Sound:
    """One second of a mono 16-bit recording at the given rate."""
    with reading(path, "a wav file"), wave.open(io.BytesIO(data)) as file:
        found = (file.getnchannels(), 8 * file.getsampwidth(), file.getframerate())
        frames = file.readframes(rate)
    if found != (1, 16, rate):
        raise BadData(f"{path} has {found[0]} channels of {found[1]} bits at {found[2]} Hz, wanted are 1, 16, {rate}")
    sound = np.zeros(rate, np.int16)
    sound[: len(frames) // 2] = np.frombuffer(frames, "<i2")
    return sound


def _files(folder: Path, patterns: Sequence[str]) -> Iterator[tuple[Path, bytes]]:
    """Path and bytes of every file that matches, looking into archives."""
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            if path.suffix in (".gz", ".tgz"):
                yield from ((path / name, data) for name, data in members(path))
            else:
                yield path, contents(path)


def read_digits(patterns: Sequence[str], folder: Path) -> Dataset:
    """Six speakers, fifty recordings of each digit; the test set is from the same speakers."""
    rows: list[Row] = []
    for path, data in _files(folder, patterns):
        if path.suffix == ".wav":
            with reading(path, "named digit_speaker_number.wav"):
                digit, speaker, number = path.stem.split("_")
                rows.append((int(digit), speaker, int(number) < 5, read_wav(data, 8000, path)))
    return _dataset("spoken-digits", rows, 10, own_test=True)


def read_commands(patterns: Sequence[str], folder: Path) -> Dataset:
    """35 words by 2,618 speakers; the speakers of the test set are others than those of the train set."""
    sounds: dict[tuple[str, str], Sound] = {}
    lists: dict[str, set[str]] = {}
    for path, data in _files(folder, patterns):
        if path.name.endswith("_list.txt"):
            lists[path.name] = set(data.decode().split())
        elif "_nohash_" in path.name:
            sounds[path.parent.name, path.name] = read_wav(data, 16_000, path)
    for wanted in ("testing_list.txt", "validation_list.txt"):
        if wanted not in lists:
            raise BadData(f"{folder / patterns[0]} has no {wanted}: replace it with a good copy")
    words = sorted({word for word, _ in sounds})
    number = {word: i for i, word in enumerate(words)}
    rows: list[Row] = [
        (number[word], name.split("_nohash_")[0], f"{word}/{name}" in lists["testing_list.txt"], sound)
        for (word, name), sound in sounds.items()
        if f"{word}/{name}" not in lists["validation_list.txt"]
    ]
    return _dataset("speech-commands", rows, len(words), own_test=False)


def _dataset(name: str, rows: Sequence[Row], classes: int, *, own_test: bool) -> Dataset:
    test = np.array([row[2] for row in rows], dtype=bool)
    if not test.any() or test.all():
        raise BadData(f"{name} has no train or no test recordings: replace its files with good copies")
    y = np.array([row[0] for row in rows])
    names, owners = np.unique([row[1] for row in rows], return_inverse=True)
    x = np.empty((len(rows), 1, len(rows[0][3])), np.float32)
    for i, row in enumerate(rows):
        np.divide(row[3], np.float32(32768), out=x[i, 0])
    return Dataset(
        name,
        x[~test],
        y[~test],
        x[test],
        y[test],
        classes,
        owners=owners[~test],
        owner_names=tuple(names.tolist()),
        test_owners=owners[test] if own_test else None,
    )


def _digits(*patterns: str) -> Layout:
    return Layout(patterns, partial(read_digits, patterns))


def _commands(*patterns: str) -> Layout:
    return Layout(patterns, partial(read_commands, patterns))


DATASETS.add(
    "speech-commands",
    Source(
        layouts=(
            _commands("testing_list.txt", "validation_list.txt", "*/*_nohash_*.wav"),
            _commands("speech_commands_v0.02.tar.gz"),
        ),
        samples=95_848,
        upstream=(
            Remote(
                "speech_commands_v0.02.tar.gz",
                "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
                "sha256:af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
            ),
        ),
    ),
    summary="35 spoken words, 1 s at 16 kHz, by speaker",
    paper="Warden 2018",
)
DATASETS.add(
    "spoken-digits",
    Source(
        layouts=(
            _digits("fsdd.tgz"),
            _digits("free-spoken-digit-dataset-*.tar.gz"),
            _digits("recordings/[0-9]_*_*.wav"),
            _digits("free-spoken-digit-dataset*/recordings/[0-9]_*_*.wav"),
        ),
        samples=3_000,
        upstream=(
            Remote(
                "free-spoken-digit-dataset-1.0.9.tar.gz",
                "https://github.com/Jakobovski/free-spoken-digit-dataset/archive/v1.0.9.tar.gz",
                "sha256:8bc44cde129d505cbbb6b365c09f80c663f2aa77578afc634e6141a2f87100c0",
            ),
        ),
    ),
    summary="ten spoken digits, 1 s at 8 kHz, by speaker",
    paper="Jackson et al. 2018",
)
