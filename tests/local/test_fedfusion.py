import pytest
import torch
from tests.narrow import known
from tests.tiny import loop_of, model_after, random_fleet, small_network
from torch import nn

from covey.errors import BadValue
from covey.execute.layout import Layout
from covey.local.fedfusion import FedFusion, Fused, Fusion

KINDS = ["conv", "multi", "single"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_fused_module_starts_as_the_plain_one(kind):
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    plain = small_network()
    torch.testing.assert_close(FedFusion(kind).adapt(small_network(), x[:1])(x), plain(x))


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_step_is_fedavg_and_later_ones_are_not(kind):
    # At the first step both streams are the same and the fusion is the local stream alone.
    fleet = random_fleet((7, 4, 9))
    plain = model_after("fedavg", fleet, small_network(), lr=0.5, epochs=4)
    loop = loop_of("fedavg", fleet, small_network(), lr=0.5, epochs=4, local=f"fedfusion:{kind}")
    progress = loop.begin()
    loop.go(progress)
    views = loop.layout.views(progress.models[0])
    fused = torch.cat([p.reshape(-1) for name, p in views.items() if not name.startswith("fusion")])
    assert not torch.allclose(fused, plain, atol=1e-3)


def test_fusions_by_hand():
    local, received = torch.tensor([[1.0, 2.0]]), torch.tensor([[10.0, 20.0]])
    single, multi, conv = (Fusion(kind, 2) for kind in ("single", "multi", "conv"))
    single.gamma.data = torch.tensor([0.5])
    assert single(local, received).tolist() == [[0.5 * 10 + 0.5 * 1, 0.5 * 20 + 0.5 * 2]]
    multi.gamma.data = torch.tensor([0.0, 1.0])
    assert multi(local, received).tolist() == [[1.0, 20.0]]
    conv.weight.data = torch.tensor([[1.0, 0, 0, 1], [0, 2, 3, 0]])
    conv.bias.data = torch.tensor([0.0, 5.0])
    assert conv(local, received).tolist() == [[1 + 20.0, 2 * 2 + 3 * 10 + 5.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_images_are_fused_channel_by_channel(kind):
    images = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    fusion = Fusion(kind, 3)
    assert fusion(images, images + 1).shape == images.shape
    torch.testing.assert_close(fusion(images, images + 1), images)


def test_the_received_features_are_frozen():
    network = small_network()
    module = Fused(network.features, Fusion("single", 6), network.head)
    module.fusion.gamma.data = torch.ones(1)  # all global: the local features have no say
    layout, rule = Layout(module), FedFusion("single")
    params = {name: p.detach().requires_grad_() for name, p in module.named_parameters()}
    received = {name: p.detach().requires_grad_() for name, p in module.named_parameters()}
    x, y = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 1, 2, 0, 1])
    rule.loss(layout.call, params, {name: p.detach() for name, p in received.items()}, x, y, None).backward()
    assert all(p.grad is None for p in received.values())
    assert not known(params["features.1.weight"].grad).any()
    assert known(params["head.weight"].grad).any()


def test_the_server_moves_gamma_a_tenth_of_the_way():
    before = {"fusion.gamma": torch.tensor([1.0, 0.0])}
    merged = {"fusion.gamma": torch.tensor([2.0, 1.0])}
    FedFusion("multi").settle(before, merged)
    assert merged["fusion.gamma"].tolist() == pytest.approx([0.9 * 1 + 0.1 * 2, 0.9 * 0 + 0.1 * 1])


def test_a_run_smooths_gamma():
    fleet, settings = random_fleet((7, 4, 9)), {"lr": 0.5, "epochs": 4, "rounds": 1}
    loop = loop_of("fedavg", fleet, small_network(), local="fedfusion:multi", **settings)
    rough = loop_of("fedavg", fleet, small_network(), local="fedfusion:multi", **settings)
    object.__setattr__(rough.ways.rule, "smoothing", 0.0)
    gammas = []
    for each in (loop, rough):
        progress = each.begin()
        each.go(progress)
        gammas.append(each.layout.views(progress.models[0])["fusion.gamma"])
    assert gammas[1].abs().max() > 0
    torch.testing.assert_close(gammas[0], 0.1 * gammas[1])


def test_a_model_without_features_is_refused():
    with pytest.raises(BadValue, match="model is 'Linear'; allowed is one with `features` and `head`"):
        FedFusion().adapt(nn.Linear(1, 2), torch.zeros(1, 1))
