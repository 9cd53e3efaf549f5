"""Secure aggregation: a server adds up what clients send and learns nothing but the sum.

>>> import numpy as np
>>> mean, _ = simulate({0: [1.0, 2.0], 1: [3.0, 6.0]}, weights={0: 1.0, 1: 3.0})
>>> np.round(mean.mean, 6).tolist()  # (1 + 3 x 3) / 4, (2 + 3 x 6) / 4
[2.5, 5.0]
"""

from covey.secure.client import Client
from covey.secure.fixed import FixedPoint
from covey.secure.messages import Refused
from covey.secure.server import Server, Sum, Terms, TooFew
from covey.secure.simulate import Session, simulate

__all__ = [
    "Client",
    "FixedPoint",
    "Refused",
    "Server",
    "Session",
    "Sum",
    "Terms",
    "TooFew",
    "simulate",
]
