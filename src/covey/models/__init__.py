"""The papers' networks by name, and any `torch.nn.Module` of a user.

>>> MODELS.names[:3]
['softmax-regression', '2nn', 'fedavg-ic-cnn']
"""

from covey.models import basic, cnn, resnet, sequence  # noqa: F401
from covey.models.base import MODELS, TwoPart
from covey.models.build import build_model, check_alone, check_fit, models_for

__all__ = ["MODELS", "TwoPart", "build_model", "check_alone", "check_fit", "models_for"]
