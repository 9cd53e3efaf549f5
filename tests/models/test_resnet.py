import torch

from covey.models.resnet import Block


def silent(block: Block) -> Block:
    """The block with a body that gives nothing, so that the shortcut is seen alone."""
    for parameter in block.parameters():
        torch.nn.init.zeros_(parameter)
    return block.eval()


def test_shortcut_averages_pixels_and_gives_new_channels_zeros():
    x = torch.tensor([[[[1.0, 3.0], [5.0, 7.0]], [[2.0, 2.0], [2.0, 6.0]]]])
    y = silent(Block(2, 4))(x)
    assert y.flatten().tolist() == [(1 + 3 + 5 + 7) / 4, (2 + 2 + 2 + 6) / 4, 0, 0]


def test_shortcut_without_growth_hands_on():
    x = torch.arange(8.0).reshape(1, 2, 2, 2)
    assert torch.equal(silent(Block(2, 2))(x), x)


def test_odd_sizes_round_up_on_both_ways():
    assert Block(2, 4).eval()(torch.zeros(1, 2, 5, 7)).shape == (1, 4, 3, 4)
