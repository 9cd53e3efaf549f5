import torch

from covey.models.cnn import _response_norm


def test_response_norm_is_tensorflows():
    # lrn(depth_radius=4, bias=1, alpha=0.001/9, beta=0.75): 11 channels of 3, so the first sees 0..4, the middle nine.
    normalised = _response_norm()(torch.full((1, 11, 1, 1), 3.0)).flatten()
    first = 3 / (1 + 0.001 / 9 * 5 * 9) ** 0.75
    middle = 3 / (1 + 0.001 / 9 * 9 * 9) ** 0.75
    assert torch.allclose(normalised[[0, 5]], torch.tensor([first, middle]), rtol=1e-6)
