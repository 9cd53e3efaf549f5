"""Small files in the real formats, in a data folder that only the test knows."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from covey.data import cifar, files, idx


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `$COVEY_DATA` names; system places and the user's cache are empty."""
    monkeypatch.setenv("COVEY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "SYSTEM", (tmp_path / "system",))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def idx_bytes(array: np.ndarray) -> bytes:
    code = {"uint8": 0x08, "int32": 0x0C}[array.dtype.name]
    header = bytes((0, 0, code, array.ndim)) + struct.pack(f">{array.ndim}i", *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def write_idx(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write a set as gzipped idx files and make their checksums the published ones."""

    def write(name: str, folder: Path, *arrays: np.ndarray) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        published = []
        for (file, served, _), array in zip(idx.FILES[name], arrays, strict=True):
            data = idx_bytes(array)
            (folder / f"{file}.gz").write_bytes(gzip.compress(data))
            published.append((file, served, hashlib.md5(data).hexdigest()))
        monkeypatch.setitem(idx.FILES, name, tuple(published))

    return write


@pytest.fixture
def little_mnist() -> tuple[np.ndarray, ...]:
    """Six train and two test images of 2 x 2."""
    train = np.arange(24, dtype=np.uint8).reshape(6, 2, 2) * 10
    return train, np.array([3, 1, 4, 1, 5, 9], np.uint8), train[:2] + 5, np.array([2, 6], np.uint8)


@pytest.fixture
def little_cifar(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Two random rows a batch, with their checksums as the published ones."""
    rng = np.random.default_rng(0)
    rows = {batch: rng.integers(0, 256, (2, 3073), dtype=np.uint8) for batch in cifar.BATCHES}
    for batch, row in rows.items():
        row[:, 0] %= 10
        monkeypatch.setitem(cifar.BATCHES, batch, hashlib.md5(row.tobytes()).hexdigest())
    return rows


@pytest.fixture
def wav() -> Callable[..., bytes]:
    """A wav file of the given values."""

    def make(values: np.ndarray, rate: int, channels: int = 1) -> bytes:
        buffer = io.BytesIO()
        with wave.open(buffer, "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(np.asarray(values, "<i2").tobytes())
        return buffer.getvalue()

    return make


@pytest.fixture
def tar() -> Callable[[Path, dict[str, bytes]], None]:
    """Write an archive, compressed as its name says."""

    def write(path: Path, members: dict[str, bytes]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w:bz2" if path.suffix == ".bz2" else "w:gz") as archive:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))

    return write
