"""Group-FEL's residual networks ("Group Formation and Sampling in Group-based Hierarchical Federated Learning", 6.1).

The shape is that of He et al., "Deep Residual Learning for Image Recognition", section 4.2: a 3x3 stem and three
stages, of which the second and the third double the channels and halve the image.

Both parameter counts need batch normalisation and a bias in every convolution. For 32x32x3 in and 10 classes out:
267,696 convolution weights + 688 biases + 2 x 688 of normalisation + 650 in the head = 270,410; without normalisation
there would be 269,034. For the small one: 18,504 + 120 + 2 x 120 + 2,890 = 21,754.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from covey.models.base import MODELS, Shape, TwoPart, image


@MODELS.register("group-fel-resnet", paper="Group-FEL")
def group_fel_resnet(shape: Shape, classes: int) -> nn.Module:
    """ResNet-20: three blocks a stage, 16, 32 and 64 channels, batch normalisation; any image."""
    channels, _, _ = image(shape)
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))
    return TwoPart(_stages(channels, widths=(16, 32, 64), blocks=3), head)


@MODELS.register("group-fel-small", paper="Group-FEL")
def group_fel_small(shape: Shape, classes: int) -> nn.Module:
    """One block a stage, 8, 16 and 32 channels, batch normalisation, 5x5 average pool; images from 17 x 17."""
    channels, height, width = image(shape, smallest=17)
    # Two halvings that round up, then a 5x5 window that moves by one: 28, 14, 7, 3.
    flat = 32 * (-(-height // 4) - 4) * (-(-width // 4) - 4)
    head = nn.Sequential(nn.AvgPool2d(5, stride=1), nn.Flatten(), nn.Linear(flat, classes))
    return TwoPart(_stages(channels, widths=(8, 16, 32), blocks=1), head)


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut without parameters.

    Where the block halves the image, the shortcut averages 2x2 pixels and gives the new channels zeros.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.grown = outputs - inputs
        stride = 2 if self.grown else 1
        self.body = nn.Sequential(
            *(nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()),
            *(nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs)),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The body's output plus the shortcut's, rectified."""
        y: Tensor = self.body(x)
        if self.grown:
            x = functional.avg_pool2d(x, 2, ceil_mode=True)
            x = functional.pad(x, (0, 0, 0, 0, 0, self.grown))
        return functional.relu(x + y)


def _stages(channels: int, widths: tuple[int, ...], blocks: int) -> nn.Sequential:
    first = widths[0]
    layers: list[nn.Module] = [nn.Conv2d(channels, first, 3, padding=1), nn.BatchNorm2d(first), nn.ReLU()]
    inputs = first
    for outputs in widths:
        layers += [Block(inputs if b == 0 else outputs, outputs) for b in range(blocks)]
        inputs = outputs
    return nn.Sequential(*layers)
