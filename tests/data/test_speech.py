from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.narrow import known

from covey.data import load
from covey.data.speech import read_wav
from covey.errors import BadData


def test_short_recordings_are_followed_by_silence(wav):
    assert read_wav(wav([1, -2, 3], 8), 8, Path("a.wav")).tolist() == [1, -2, 3, 0, 0, 0, 0, 0]


def test_long_recordings_are_cut_at_one_second(wav):
    assert read_wav(wav(range(20), 8), 8, Path("a.wav")).tolist() == list(range(8))


@pytest.mark.parametrize(("rate", "channels"), [(16, 1), (8, 2)])
def test_another_format_is_refused(wav, rate, channels):
    with pytest.raises(BadData, match=rf"a\.wav has {channels} channels of 16 bits at {rate} Hz, wanted are 1, 16, 8"):
        read_wav(wav([0] * 8, rate, channels), 8, Path("a.wav"))


@pytest.mark.parametrize("keep", [0, 20, 30])
def test_a_damaged_file_is_named(wav, keep):
    with pytest.raises(BadData, match=r"a\.wav is truncated or not a wav file"):
        read_wav(wav([0] * 8, 8)[:keep], 8, Path("a.wav"))


@pytest.fixture
def recordings(wav):
    """Two speakers, two digits, recordings 4 (test) and 5 (train) of each."""
    return {
        f"{digit}_{speaker}_{n}.wav": wav(np.full(4, 1000 * digit + n), 8000)
        for digit in (0, 7)
        for speaker in ("theo", "george")
        for n in (4, 5)
    }


def check_digits():
    read = load("spoken-digits")
    assert read.x.shape == (4, 1, 8000)
    assert read.x.dtype == np.float32
    assert sorted(zip(read.y.tolist(), known(read.owners).tolist(), strict=True)) == [(0, 0), (0, 1), (7, 0), (7, 1)]
    assert read.owner_names == ("george", "theo")
    assert sorted(known(read.test_owners).tolist()) == [0, 0, 1, 1]
    seven = read.x[read.y == 7][0, 0]
    np.testing.assert_allclose(seven[:5], [7005 / 32768] * 4 + [0])
    assert read.classes == 10


@pytest.mark.parametrize("archive", ["fsdd.tgz", "free-spoken-digit-dataset-1.0.9.tar.gz"])
def test_digits_in_an_archive(home, recordings, tar, archive):
    inside = {f"fsdd/recordings/{name}": data for name, data in recordings.items()} | {"fsdd/metadata.py": b"x"}
    tar(home / "spoken-digits" / archive, inside)
    check_digits()


def test_digits_in_a_folder(home, recordings):
    folder = home / "spoken-digits" / "recordings"
    folder.mkdir(parents=True)
    for name, data in recordings.items():
        (folder / name).write_bytes(data)
    check_digits()


def test_a_recording_by_another_name_is_refused(home, recordings, tar):
    tar(home / "fsdd.tgz", {"recordings/hello.wav": next(iter(recordings.values()))})
    with pytest.raises(BadData, match=r"hello\.wav is truncated or not named digit_speaker_number\.wav"):
        load("spoken-digits")


def test_an_archive_without_test_recordings_is_refused(home, recordings, tar):
    tar(home / "fsdd.tgz", {name: data for name, data in recordings.items() if "_5" in name})
    with pytest.raises(BadData, match="spoken-digits has no train or no test recordings"):
        load("spoken-digits")


@pytest.fixture
def commands(wav):
    """Two words; speaker aa trains, bb validates, cc tests."""
    files = {
        f"{word}/{speaker}_nohash_0.wav": wav(np.full(3, loud), 16_000)
        for word, loud in (("yes", 100), ("no", 200))
        for speaker in ("aa", "bb", "cc")
    }
    return files | {
        "_background_noise_/pink.wav": wav([1] * 9, 16_000),
        "testing_list.txt": b"yes/cc_nohash_0.wav\nno/cc_nohash_0.wav\n",
        "validation_list.txt": b"yes/bb_nohash_0.wav\nno/bb_nohash_0.wav\n",
        "README.md": b"hello",
    }


def check_commands():
    read = load("speech-commands")
    assert read.x.shape == (2, 1, 16_000)
    assert read.classes == 2
    # words in alphabetical order: no is 0, yes is 1
    loud = {int(y): float(x[0, 0] * 32768) for x, y in zip(read.x, read.y, strict=True)}
    assert loud == {0: 200.0, 1: 100.0}
    assert [known(read.owner_names)[owner] for owner in known(read.owners)] == ["aa", "aa"]
    assert sorted(read.test_y.tolist()) == [0, 1]
    assert read.test_owners is None


def test_commands_in_an_archive(home, commands, tar):
    inside = {f"./{name}": data for name, data in commands.items()}
    tar(home / "speech-commands" / "speech_commands_v0.02.tar.gz", inside)
    check_commands()


def test_commands_in_a_folder(home, commands):
    for name, data in commands.items():
        path = home / "speech-commands" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    check_commands()


def test_an_archive_without_its_lists_is_refused(home, commands, tar):
    del commands["validation_list.txt"]
    tar(home / "speech_commands_v0.02.tar.gz", commands)
    with pytest.raises(BadData, match=r"speech_commands_v0\.02\.tar\.gz has no validation_list\.txt"):
        load("speech-commands")
