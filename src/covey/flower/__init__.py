"""Real devices by way of Flower: the same algorithms, with SuperNodes as clients. Needs `pip install 'covey[flower]'`.

>>> import covey.flower
>>> app = covey.flower.App(data=lambda node: ([[0.0], [1.0]], [0, 1]), classes=2)
"""

from covey.flower.app import App

__all__ = ["App"]
