"""An experiment: its settings (`settings`), the parts they make (`assembly`), and the life of a run (`life`)."""

from covey.experiment.settings import Experiment

__all__ = ["Experiment"]
