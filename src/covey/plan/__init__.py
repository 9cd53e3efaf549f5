"""A round is a plan: a small immutable tree that says who trains, in which order, and where models meet.

Five nodes are enough. `Train`, `Star` and `Ring` take one model and give one; `Mesh` and `Forest` keep one model per
child. At the root those models live on from round to round; in a place where one model is wanted (inside a Star, say)
all children start from that model and their sample-weighted mean is handed on. Nesting is free.

    Star(Train(i) for i in clients)                                                            FedAvg
    Star(Star((Train(i) for i in g), rounds=2, at=edge(e)) for e, g in enumerate(groups))      hierarchical FedAvg
    Star(Ring(Train(i) for i in g) for g in groups)                                            rings under a star
    Mesh((Star((Train(i) for i in g), at=client(g[0])) for g in groups), links)                heads that gossip

Nothing in here knows torch. What the nodes mean when they run is in `covey.execute.walk`, and only there.
"""

from covey.plan.count import check, clients, ends_at, epochs, leaves, starts_at, trainings, transfers
from covey.plan.draw import draw, sketch
from covey.plan.nodes import Forest, Mesh, Place, Plan, Ring, Star, Train, client, cloud, edge
from covey.plan.rewrite import by_epoch, combine, without

__all__ = [
    "Forest",
    "Mesh",
    "Place",
    "Plan",
    "Ring",
    "Star",
    "Train",
    "by_epoch",
    "check",
    "client",
    "clients",
    "cloud",
    "combine",
    "draw",
    "edge",
    "ends_at",
    "epochs",
    "leaves",
    "sketch",
    "starts_at",
    "trainings",
    "transfers",
    "without",
]
