"""Random views of samples: what a draw makes of a picture, and that all ways of training see the same."""

import numpy as np
import pytest
import torch
from tests.execute.test_trainers import close, jobs_of, trained
from tests.execute.test_workers import Images, pictures

from covey.errors import BadValue, UnknownName
from covey.execute.local import Training, make_task
from covey.execute.trainers import OneByOne, Stacked
from covey.experiment import Experiment, life
from covey.local import AUGMENTATIONS, make_augmentations
from covey.local.augment import Crop, Flip

ONE = torch.arange(1.0, 10.0).view(1, 1, 3, 3)  # 1 2 3 / 4 5 6 / 7 8 9


def view(part, draw, x=ONE):
    return part.apply(x, torch.tensor([draw] * len(x)))[0, 0].tolist()


def test_a_crop_moves_a_picture():
    # with pad 1 there are 3 x 3 moves: draw 0 is up and left, 4 = 1 + 3 x 1 none at all, 8 = 2 + 3 x 2 down and right
    assert view(Crop(1), 0) == [[5, 6, 0], [8, 9, 0], [0, 0, 0]]
    assert view(Crop(1), 4) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert view(Crop(1), 8) == [[0, 0, 0], [0, 1, 2], [0, 4, 5]]
    assert view(Crop(1), 5) == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]  # 5 = 2 + 3 x 1: down
    assert view(Crop(1), 9 * 10**17 + 4) == view(Crop(1), 4)  # 9 moves, over and over


def test_a_flip_is_the_mirror_image():
    assert view(Flip(), 7) == [[3, 2, 1], [6, 5, 4], [9, 8, 7]]
    assert view(Flip(), 6) == ONE[0, 0].tolist()


def test_every_picture_has_its_own_draw_and_all_channels_move_alike():
    x = torch.cat([ONE, ONE * 10], dim=1).repeat(2, 1, 1, 1)
    up, down = Crop(1).apply(x, torch.tensor([3, 5]))
    assert up[0].tolist() == [[4, 5, 6], [7, 8, 9], [0, 0, 0]]
    assert down[0].tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert torch.equal(up[1], up[0] * 10)


def test_words():
    assert make_augmentations("crop+flip") == (Crop(4), Flip())
    assert make_augmentations("flip+crop:2") == (Flip(), Crop(2))
    with pytest.raises(UnknownName, match="augmentation is 'flop'"):
        make_augmentations("crop:2+flop")
    with pytest.raises(BadValue, match="pad of crop is 0; allowed is a whole number from 1 up"):
        make_augmentations("crop:0")


def task_of(augment, batch=4, **settings):
    torch.manual_seed(1)
    return make_task(Images(), pictures(), Training(batch=batch, augment=augment, **settings))


@pytest.mark.parametrize("word", [*AUGMENTATIONS.names, "crop:2+flip"])
def test_stacked_clients_see_what_single_ones_see(word):
    task = task_of(word, momentum=0.5)
    jobs = jobs_of(task, epochs=(2, 1))
    alone = trained(OneByOne(task), jobs)
    for chunk in (2, 6):  # clients of other sizes beside them change nothing
        for one, other in zip(alone, trained(Stacked(task, chunk), jobs), strict=True):
            close(other.model, one.model)
    plain = trained(OneByOne(task_of("none", momentum=0.5)), jobs)
    assert all(not torch.equal(a.model, b.model) for a, b in zip(alone, plain, strict=True))


def test_draws_are_even_and_others_in_every_epoch_and_for_every_part():
    task = task_of("crop:2+flip", batch=0)
    (job,) = [job for job in jobs_of(task, epochs=(400,)) if task.deck.sizes[job.client] == 40]
    draws = task.deal([job]).draws[0]  # epochs x samples x parts
    assert draws.shape == (400, 40, 2)
    assert len(torch.unique(draws)) == draws.numel()
    assert int(draws.min()) >= 0
    moves = np.bincount((draws[:, :, 0] % 25).flatten().numpy(), minlength=25)
    # 16,000 draws over 25 moves: 640 each, with a standard deviation of sqrt(640 x 24/25) = 24.8; five of them
    assert np.abs(moves - 640).max() < 125
    odd = float((draws[:, :, 1] % 2).float().mean())
    assert abs(odd - 0.5) < 5 * 0.5 / 16_000**0.5


def test_without_augmentations_nothing_is_drawn():
    task = task_of("none")
    assert task.deal(jobs_of(task)).draws.numel() == 0


SMALL = {"clients": 6, "samples": 20, "rounds": 2, "lr": 0.1, "model": "softmax-regression"}


def test_the_same_command_gives_the_same_model():
    def model(augment):
        return life.try_out(Experiment.make({**SMALL, "augment": augment}))[1]["model_sha256"]

    assert model("crop:1+flip") == model("crop:1+flip")
    assert len({model("crop:1+flip"), model("flip"), model("none")}) == 3


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"augment": "crop:8"}, "pad of crop is 8; allowed is less than the sides of pictures, which are 8 x 8"),
        ({"augment": "flip", "data": "synthetic:shape=5"}, "augment is 'flip'; allowed is none for samples of shape 5"),
        ({"augment": "blur"}, "augmentation is 'blur'"),
    ],
)
def test_what_cannot_be_is_said_before_the_run(settings, sentence):
    with pytest.raises(BadValue, match=sentence):
        life.try_out(Experiment.make({**SMALL, **settings}))


def test_views_of_another_shape_are_refused(tmp_path):
    (tmp_path / "mine.py").write_text("class Halved:\n    def apply(self, x, draws):\n        return x[..., ::2]\n")
    with pytest.raises(BadValue, match="parts that give samples of the shape and type they were given"):
        task_of(f"{tmp_path}/mine.py:Halved")
