import pytest
import torch
from tests.narrow import a

from covey.errors import BadValue
from covey.models import MODELS, TwoPart
from covey.models.sequence import SHORTEST_SOUND, Reader


def test_shortest_sound_leaves_one_value_and_one_sample_less_none():
    # (6848 - 80) / 16 + 1 = 424; 424 / 4 = 106; (106 - 2) / 4 = 26; (26 - 2) / 4 = 6; (6 - 2) / 4 = 1
    with torch.device("meta"):
        model = a(TwoPart, MODELS["group-fel-speech"]((1, SHORTEST_SOUND), 35).eval())
        assert model.features(torch.zeros(2, 1, SHORTEST_SOUND)).shape == (2, 64, 1)
        with pytest.raises(RuntimeError):
            model.features(torch.zeros(2, 1, SHORTEST_SOUND - 1))
    with pytest.raises(BadValue, match="from 6848 samples up"):
        MODELS["group-fel-speech"]((1, SHORTEST_SOUND - 1), 35)


def test_reader_keeps_the_last_step_only():
    reader = Reader(5)
    text = torch.tensor([[0, 1, 2, 3]])
    whole, _ = reader.lstm(reader.embedding(text))
    assert torch.equal(reader(text), whole[:, 3])


def test_text_is_one_row_of_characters():
    with pytest.raises(BadValue, match="text as whole numbers"):
        MODELS["shakespeare-rnn"]((80, 1), 90)
