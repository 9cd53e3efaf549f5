import pytest

from covey.store import Store


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs") as store:
        yield store
