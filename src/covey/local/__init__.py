"""What a client does to a model: a local rule, and the optimiser that takes its steps."""

from covey.local.optimiser import Adam, Optimiser, Sgd
from covey.local.rule import RULES, Call, Params, Rule, make_rule, mean_loss

__all__ = ["RULES", "Adam", "Call", "Optimiser", "Params", "Rule", "Sgd", "make_rule", "mean_loss"]
