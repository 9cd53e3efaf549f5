import torch
from torch import nn

from covey.execute.flops import count_flops


def leaf_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(7 * 7 * 64, 2048),
        nn.ReLU(),
        nn.Linear(2048, 62),
    )


def test_the_femnist_network_of_fedgsp():
    flops = count_flops(leaf_cnn(), torch.zeros(3, 1, 28, 28))
    conv1 = 2 * 28 * 28 * 32 * 25 * 1
    conv2 = 2 * 14 * 14 * 64 * 25 * 32
    dense = 2 * 3136 * 2048 + 2 * 2048 * 62
    assert flops.forward == conv1 + conv2 + dense
    assert flops.backward == conv1 + 2 * (conv2 + dense)  # weights and inputs; the first layer has no input gradient
    assert abs(flops.training / 96e6 - 1) < 0.07  # FedGSP says 96 M per sample; this is 102 M


def test_lstm_gates_are_counted():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 16, batch_first=True)

        def forward(self, x):
            return self.lstm(x)[0]

    flops = count_flops(Last(), torch.zeros(2, 5, 8))
    assert flops.forward == 5 * 4 * 2 * 16 * (8 + 16)  # 5 steps, 4 gates, input and hidden


def test_it_works_on_real_tensors_and_leaves_the_model_alone():
    model = nn.Linear(4, 2)
    assert count_flops(model, torch.ones(1, 4), device="cpu") == count_flops(model, torch.ones(5, 4))
    assert model.weight.grad is None
    assert model.weight.device.type == "cpu"


def test_a_frozen_model_has_no_backward_pass():
    model = nn.Linear(4, 2).requires_grad_(False)
    flops = count_flops(model, torch.ones(1, 4))
    assert (flops.forward, flops.backward, flops.training) == (16, 0, 16)


def test_a_network_with_batch_statistics_is_counted_on_one_sample():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert count_flops(model, torch.zeros(1, 3)).forward == 2 * 3 * 4
    assert model.training  # as it was
