import sys
import textwrap

import pytest
import torch
from tests.narrow import a, known
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from covey.errors import BadValue, UnknownName
from covey.execute.norms import with_norms
from covey.models import MODELS, build_model, check_fit, models_for

VECTORISE = {
    "softmax-regression": (1, 8, 8),
    "2nn": (1, 8, 8),
    "fedavg-ic-cnn": (1, 16, 16),
    "mcmahan-cnn": (1, 8, 8),
    "femnist-cnn": (1, 4, 4),
    "ihc-cnn": (1, 16, 16),
    "celeba-cnn": (1, 8, 8),
    "group-fel-resnet": (1, 8, 8),
    "group-fel-small": (1, 17, 17),
    "group-fel-speech": (1, 6848),
}


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def loss_of(model: nn.Module):
    return lambda parameters, x, y: cross_entropy(functional_call(model, parameters, (x,)), y)


def test_the_seed_alone_decides_the_weights():
    def build(seed):
        return weights(build_model("ihc-cnn", (1, 28, 28), 10, seed))

    torch.rand(3)  # whatever happened to torch's generator before
    first = build(0)
    assert torch.equal(first, build(0))
    assert not torch.equal(first, build(1))


def test_torchs_generator_stays_as_it_was():
    before = torch.get_rng_state()
    build_model("ihc-cnn", (1, 28, 28), 10, 0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", VECTORISE)
def test_vmap_of_grad_equals_one_by_one(name):
    shape = VECTORISE[name]
    model = build_model(name, shape, 10, 0).double()  # rounding grows where a batch norm has few numbers to look at
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 2, *shape, generator=generator).double()  # three clients, two samples each
    y = torch.randint(10, (3, 2), generator=generator)
    parameters = {key: value.detach() for key, value in model.named_parameters()}
    together = vmap(grad(loss_of(with_norms(model)[0])), in_dims=(None, 0, 0))(parameters, x, y)
    for client in range(3):
        model.zero_grad()
        cross_entropy(model(x[client]), y[client]).backward()
        for key, parameter in model.named_parameters():
            torch.testing.assert_close(together[key][client], parameter.grad, rtol=1e-6, atol=1e-9)


def test_the_check_moves_no_batch_statistics_and_leaves_the_model_in_training():
    model = build_model("celeba-cnn", (3, 8, 8), 2, 0)
    assert model.training
    norm = a(nn.BatchNorm2d, a(nn.Sequential, model.features)[1])
    assert norm.num_batches_tracked == 0
    assert torch.equal(known(norm.running_mean), torch.zeros(32))


def test_a_model_too_big_for_the_data_names_those_that_fit():
    with pytest.raises(BadValue) as caught:
        build_model("ihc-cnn", (1, 8, 8), 10, 0)
    assert str(caught.value) == (
        "model is 'ihc-cnn'; allowed is one of softmax-regression, 2nn, mcmahan-cnn, femnist-cnn, celeba-cnn, "
        "group-fel-resnet: 'ihc-cnn' does not fit data of shape (1, 8, 8) and type float32; it takes "
        "(channels, height, width) with images from 16 x 16 up"
    )


def test_text_models_want_whole_numbers_and_only_they_do():
    assert models_for((80,), 90, dtype=torch.int64) == ["shakespeare-rnn"]
    assert build_model("shakespeare-rnn", (80,), 90, 0, dtype=torch.int64).training
    with pytest.raises(BadValue, match=r"does not fit data of shape \(80,\) and type float32"):
        build_model("shakespeare-rnn", (80,), 90, 0)
    with pytest.raises(BadValue, match=r"one of shakespeare-rnn: '2nn' does not fit .* type int64"):
        build_model("2nn", (80,), 90, 0, dtype=torch.int64)


def test_no_model_of_ours_fits():
    with pytest.raises(BadValue, match=r"a package\.module:Class of your own: 'shakespeare-rnn' does not fit"):
        build_model("shakespeare-rnn", (2, 40), 90, 0, dtype=torch.int64)


def test_unknown_name():
    with pytest.raises(UnknownName, match="did you mean 'lenet'"):
        build_model("lennet", (1, 28, 28), 10, 0)


OWN = """
    from math import prod
    from torch import nn

    class Both(nn.Sequential):
        def __init__(self, shape, classes):
            super().__init__(nn.Flatten(), nn.Linear(prod(shape), classes))

    class ByPosition(Both):
        def __init__(self, size, labels):
            super().__init__(size, labels)

    class Nothing(nn.Sequential):
        def __init__(self, hidden=5, depth=1):
            super().__init__(nn.Flatten(), nn.Linear(64, hidden), nn.Linear(hidden, 10))

    class OnlyClasses(nn.Sequential):
        def __init__(self, *, classes):
            super().__init__(nn.Flatten(), nn.Linear(64, classes))

    class Needy(nn.Module):
        def __init__(self, a, b, c):
            super().__init__()

    class WrongOutput(Both):
        def __init__(self, shape):
            super().__init__(shape, 7)

    class NoTensor(Both):
        def forward(self, x):
            return [x]

    class WrongInput(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Flatten(), nn.Linear(63, 10))

    def number(shape, classes):
        return 3

    def leave():
        raise SystemExit(3)

    seven = 7
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's file in the current directory; its name is the test's own, since imports are remembered."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(OWN))
    monkeypatch.chdir(tmp_path)
    return name


@pytest.mark.parametrize("name", ["Both", "ByPosition", "Nothing", "OnlyClasses"])
def test_a_users_model_from_the_current_directory(own, name):
    path = list(sys.path)
    model = build_model(f"{own}:{name}", (1, 8, 8), 10, 0)
    assert model(torch.zeros(4, 1, 8, 8)).shape == (4, 10)
    assert torch.equal(weights(model), weights(build_model(f"{own}:{name}", (1, 8, 8), 10, 0)))
    assert sys.path == path


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Absent", "code that can be loaded ({own} has no Absent)"),
        ("Needy", "one to call with (shape, classes) or with nothing (TypeError: "),
        ("WrongOutput", "one that makes (2, 10) logits of 2 samples; this one makes (2, 7)"),
        ("NoTensor", "one that makes (2, 10) logits of 2 samples; this one makes list"),
        ("WrongInput", "does not fit data of shape (1, 8, 8) and type float32 (RuntimeError: mat1 and mat2"),
        ("leave", "one to call with (shape, classes) or with nothing (SystemExit: 3, line"),
        ("number", "one that makes a torch.nn.Module; this one makes int"),
        ("seven", "a torch.nn.Module class, or a function that makes one; this is of type int"),
    ],
)
def test_what_is_wrong_with_a_users_model_is_one_sentence(own, name, sentence):
    with pytest.raises(BadValue) as caught:
        build_model(f"{own}:{name}", (1, 8, 8), 10, 0)
    assert sentence.format(own=own) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_module_that_is_not_there():
    with pytest.raises(UnknownName, match="model is 'nowhere_at_all:Net'; allowed is one of 2nn, "):
        build_model("nowhere_at_all:Net", (1, 8, 8), 10, 0)
    with pytest.raises(BadValue, match=r"can be loaded \(ModuleNotFoundError: No module named 'nowhere_at_all'\)"):
        build_model("nowhere_at_all.nets:Net", (1, 8, 8), 10, 0)


@pytest.mark.parametrize("word", ["os:abort", "os:_exit", "sys:exit", "builtins:dict", "math:pi"])
def test_what_is_no_model_is_not_called(word):
    with pytest.raises(BadValue, match=r"a torch\.nn\.Module class, or a function that makes one; this is "):
        build_model(word, (1, 8, 8), 10, 0)


def test_check_fit_takes_any_module():
    check_fit(nn.Linear(4, 3), "mine", (4,), 3)
    with pytest.raises(BadValue, match=r"model is 'mine'; .* makes \(2, 3\)"):
        check_fit(nn.Linear(4, 3), "mine", (4,), 2)


@pytest.mark.parametrize("shape", [(64,), (1, 64), (1, 8000), (1, 8, 8), (1, 16, 16), (3, 32, 32)])
def test_models_for_names_exactly_those_that_build(shape):
    def builds(name):
        try:
            return bool(build_model(name, shape, 2, 0))
        except BadValue:
            return False

    assert models_for(shape, 2) == [name for name in MODELS.names if builds(name)]
