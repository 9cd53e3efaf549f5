from __future__ import annotations

import gzip
import hashlib
import struct
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from covey.data import files
from covey.data.files import Remote, cache_folder, check_md5, contents, fetch, members, places, reading
from covey.errors import BadData, BadValue


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address it is served at."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_places_come_in_the_promised_order(home, tmp_path):
    assert places("mnist") == [
        (home / "mnist", True),
        (home, False),
        (tmp_path / "system" / "mnist", True),
        (tmp_path / "cache" / "covey" / "mnist", True),
    ]


def test_without_a_data_folder_only_system_and_cache_are_left(home, monkeypatch):
    monkeypatch.delenv("COVEY_DATA")
    assert all(own for _, own in places("mnist"))
    assert len(places("mnist")) == 2


def test_fetch_verifies_and_keeps(home, upstream):
    folder, url = upstream
    (folder / "a.bin").write_bytes(b"abc")
    fetch("letters", Remote("a.bin", url + "a.bin", f"md5:{hashlib.md5(b'abc').hexdigest()}"))
    assert (cache_folder("letters") / "a.bin").read_bytes() == b"abc"


def test_fetch_refuses_a_wrong_checksum_and_keeps_nothing(home, upstream):
    folder, url = upstream
    (folder / "a.bin").write_bytes(b"abd")
    remote = Remote("a.bin", url + "a.bin", f"md5:{hashlib.md5(b'abc').hexdigest()}")
    with pytest.raises(BadData, match=r"a\.bin could not be fetched .*hash.* by hand"):
        fetch("letters", remote)
    assert not (cache_folder("letters") / "a.bin").exists()


def test_fetch_says_so_when_upstream_has_gone(home, upstream):
    _, url = upstream
    with pytest.raises(BadData, match=r"could not be fetched .*404"):
        fetch("letters", Remote("a.bin", url + "a.bin", "md5:0"))


def test_fetch_unpacks_what_is_wanted(home, upstream, tar):
    folder, url = upstream
    tar(folder / "a.tar.bz2", {"one.h5": b"1", "two.h5": b"2"})
    sha = hashlib.sha256((folder / "a.tar.bz2").read_bytes()).hexdigest()
    fetch("letters", Remote("a.tar.bz2", url + "a.tar.bz2", f"sha256:{sha}", unpack=("one.h5",)))
    assert (cache_folder("letters") / "one.h5").read_bytes() == b"1"
    assert not (cache_folder("letters") / "two.h5").exists()


def test_fetch_reports_progress(home, upstream):
    class Bar:
        total = 0
        seen = 0

        def update(self, size: int) -> None:
            self.seen += size

        def reset(self) -> None:
            self.seen = 0

        def close(self) -> None:
            self.closed = True

    folder, url = upstream
    (folder / "a.bin").write_bytes(b"abc")
    bar = Bar()
    remote = Remote("a.bin", url + "a.bin", f"md5:{hashlib.md5(b'abc').hexdigest()}")
    fetch("letters", remote, progress=bar)
    assert (bar.total, bar.seen, bar.closed) == (3, 3, True)


def test_contents_decompresses_by_name(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"abc"))
    (tmp_path / "a").write_bytes(b"abc")
    assert contents(tmp_path / "a.gz") == contents(tmp_path / "a") == b"abc"


@pytest.mark.parametrize("damage", [lambda raw: raw[:-5], lambda raw: b"\0" + raw, lambda raw: raw[:-8] + b"\0" * 8])
def test_contents_refuses_damaged_gzip(tmp_path, damage):
    path = tmp_path / "a.gz"
    path.write_bytes(damage(gzip.compress(bytes(range(200)))))
    with pytest.raises(BadData, match=r"a\.gz is truncated or not a gzip file"):
        contents(path)


def test_contents_unpacks_no_more_than_a_data_set_has(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 2**20)
    (tmp_path / "fits.gz").write_bytes(gzip.compress(bytes(2**20)))
    assert len(contents(tmp_path / "fits.gz")) == 2**20
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(2**20 + 1)))
    (tmp_path / "plain").write_bytes(bytes(2**20 + 1))
    for name in ("bomb.gz", "plain"):
        with pytest.raises(BadData, match=f"{name} has more than 1 MB in one file, which no data set has"):
            contents(tmp_path / name)


def test_archives_unpack_no_more_than_a_data_set_has(tmp_path, tar, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 2**20)
    tar(tmp_path / "a.tgz", {"one": bytes(2**20 + 1)})
    with pytest.raises(BadData, match=r"a\.tgz has more than 1 MB in one file"):
        list(members(tmp_path / "a.tgz"))
    monkeypatch.setattr(files, "MOST_IN_ARCHIVE", 2**20)
    tar(tmp_path / "b.tgz", {"one": bytes(2**20), "two": bytes(1)})
    with pytest.raises(BadData, match=r"b\.tgz has more than 0 MB"):
        list(members(tmp_path / "b.tgz"))


@pytest.mark.parametrize(
    "error", [RecursionError(), MemoryError(), struct.error("short"), ZeroDivisionError(), KeyError(3)]
)
def test_whatever_a_parser_raises_is_one_sentence(error):
    with (
        pytest.raises(BadData, match=r"a\.bin is truncated or not a file of ours"),
        reading(Path("a.bin"), "a file of ours"),
    ):
        raise error


def test_reading_lets_covey_errors_through():
    with pytest.raises(BadValue), reading(Path("a"), "a file"):
        raise BadValue("x", 1, "2")


def test_check_md5():
    check_md5(b"abc", "900150983cd24fb0d6963f7d28e17f72", "a")
    with pytest.raises(BadData, match="a is corrupt"):
        check_md5(b"abd", "900150983cd24fb0d6963f7d28e17f72", "a")


def test_members_drops_the_leading_dot_and_names_a_bad_archive(tmp_path, tar):
    tar(tmp_path / "a.tgz", {"./x/one": b"1", "two": b"2"})
    assert list(members(tmp_path / "a.tgz")) == [("x/one", b"1"), ("two", b"2")]
    (tmp_path / "b.tgz").write_bytes((tmp_path / "a.tgz").read_bytes()[:40])
    with pytest.raises(BadData, match=r"b\.tgz is truncated or not a tar archive"):
        list(members(tmp_path / "b.tgz"))
