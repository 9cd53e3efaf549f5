"""A plan drawn: circles are clients, squares places where models meet, arrows hand a model on.

A Star joins its children to the place where they meet, a Ring is a chain of arrows, a Mesh joins those that mix, a
Forest joins nobody. What there is too much of is counted, not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from covey.plan import Forest, Mesh, Place, Plan, Ring, Star, Train, sketch
from covey.report.drawing import Drawing, Point

CELL, RADIUS, HUB, PAD, CAPTION = 34.0, 12.0, 46.0, 10.0, 20.0
MOST_CLIENTS, MOST_GROUPS = 30, 24
ROOM = {0: 760.0, 1: 7 * CELL, 2: 5 * CELL}  # the width in which children stand, by how deep a node is


@dataclass
class Box:
    """A part of the tree with its size, and where in it a line from above ends."""

    width: float
    height: float
    plan: Plan | None = None
    children: list[Box] = field(default_factory=list)
    at: list[Point] = field(default_factory=list)  # of the children, inside this box
    more: int = 0  # children that are not drawn
    hub: Point | None = None
    caption: str = ""

    def enter(self, x: float, y: float) -> Point:
        """Where a line from above ends."""
        if self.hub is not None:
            return x + self.hub[0], y + self.hub[1]
        if self.children and isinstance(self.plan, Ring):
            return self.children[0].enter(x + self.at[0][0], y + self.at[0][1])
        return (x + self.width / 2, y + self.height / 2) if not self.children else (x + self.width / 2, y)

    def leave(self, x: float, y: float) -> Point:
        """Where a line to the next begins."""
        if self.children and isinstance(self.plan, Ring):
            return self.children[-1].leave(x + self.at[-1][0], y + self.at[-1][1])
        return self.enter(x, y)


def tree(plan: Plan) -> Drawing:
    """The plan as a picture."""
    box = _box(plan, 0)
    width = max(320.0, box.width + 2 * PAD)
    picture = Drawing(width, box.height + 2 * PAD, f"The plan of a round: {sketch(plan)}", wide=width > 640)
    _paint(picture, box, (width - box.width) / 2, PAD)
    return picture


def _box(plan: Plan | None, depth: int) -> Box:
    """The box of a node, its children in rows."""
    if plan is None or isinstance(plan, Train):
        return Box(CELL, CELL, plan)
    flat = all(isinstance(child, Train) for child in plan.children)
    most = MOST_CLIENTS if flat else MOST_GROUPS
    kept = list(plan.children)
    more = len(kept) - most if len(kept) > most + 1 else 0
    boxes = [_box(child, depth + 1) for child in (kept[:most] if more else kept)]
    boxes += [Box(CELL + 14, CELL)] if more else []
    room = ROOM[min(depth, 2)]
    gap = 0.0 if flat else 14.0
    top = CAPTION + (HUB if isinstance(plan, Star) else 4.0)
    rows = _rows(boxes, room, gap)
    caption = _caption(plan)
    wide = max(max(sum(b.width + gap for b in row) - gap for row in rows), 6.2 * len(caption))
    at: list[Point] = []
    y = top
    for number, row in enumerate(rows):
        left = (wide - sum(b.width + gap for b in row) + gap) / 2
        spots = []
        for child in row:
            spots.append((PAD + left, y))
            left += child.width + gap
        if isinstance(plan, Ring) and number % 2:  # to and fro, so that every arrow is short
            right = 2 * PAD + wide
            spots = [(right - x - child.width, y) for (x, _), child in zip(spots, row, strict=True)]
        at += spots
        y += max(child.height for child in row) + gap
    hub = (PAD + wide / 2, CAPTION + 14) if isinstance(plan, Star) else None
    return Box(wide + 2 * PAD, y - gap + PAD, plan, boxes, at, more, hub, caption)


def _rows(boxes: Sequence[Box], room: float, gap: float) -> list[list[Box]]:
    """The boxes in rows of about the same number."""
    widest = max(box.width for box in boxes) + gap
    count = math.ceil(len(boxes) / max(1, int((room + gap) // widest)))
    long = math.ceil(len(boxes) / count)
    return [list(boxes[k : k + long]) for k in range(0, len(boxes), long)]


def _caption(plan: Star | Ring | Mesh | Forest) -> str:
    many = f"{len(plan.children)} "
    if len(plan.children) == 1 and isinstance(plan.children[0], Train):
        return "1 client"
    if isinstance(plan, Ring):
        return f"ring: {many}in turn" + (f", via {plan.via}" if plan.via else "")
    if isinstance(plan, Forest):
        return f"{many}apart"
    if isinstance(plan, Mesh):
        return f"mesh: {many}mix with neighbours"
    again = f", {plan.rounds} times" if plan.rounds > 1 else ""
    return f"star: {many}meet{again}"


def _paint(picture: Drawing, box: Box, x: float, y: float, depth: int = 0) -> None:
    plan = box.plan
    if plan is None:
        return
    if isinstance(plan, Train):
        _client(picture, x + box.width / 2, y + box.height / 2, plan)
        return
    picture.rect(x, y, box.width, box.height, f"panel-{min(depth, 2)}")
    spots = [(x + a, y + b) for a, b in box.at]
    ends = [(child.enter(*spot), child.leave(*spot)) for child, spot in zip(box.children, spots, strict=True)]
    hub = None if box.hub is None else (x + box.hub[0], y + box.hub[1])
    if isinstance(plan, Star) and hub:  # behind the groups, which lines from above reach at their upper side
        for child, spot, (enter, _) in zip(box.children, spots, ends, strict=True):
            single = child.plan is None or isinstance(child.plan, Train)
            picture.line([hub, enter if single else (spot[0] + child.width / 2, spot[1])], "idle", 1.3)
    picture.text(x + PAD, y + 11, box.caption, size=11, colour="soft")
    for child, spot in zip(box.children, spots, strict=True):
        if child.plan is not None and not isinstance(child.plan, Train):
            _paint(picture, child, *spot, depth + 1)
    if isinstance(plan, Ring):
        for ((_, begin), (end, _)), (a, b) in zip(pairwise(ends), pairwise(box.children), strict=True):
            _arrow(picture, begin, end, _room(a), _room(b))
    if isinstance(plan, Mesh):
        drawn = len(ends) - bool(box.more)
        for one, other in plan.links:
            if one < drawn and other < drawn:
                picture.line([ends[one][0], ends[other][0]], "meet", 1.6)
    for child, spot in zip(box.children, spots, strict=True):
        if isinstance(child.plan, Train):
            _paint(picture, child, *spot)
        elif child.plan is None:
            middle = spot[0] + child.width / 2, spot[1] + child.height / 2
            picture.text(*middle, f"+{box.more:,}", anchor="middle", size=12)
    if hub and isinstance(plan, Star):
        _place(picture, *hub, plan.at)
    if isinstance(plan, Mesh | Ring):  # the places again, over links and arrows
        for child, (enter, _) in zip(box.children, ends, strict=True):
            if isinstance(child.plan, Star):
                _place(picture, *enter, child.plan.at)


def _room(box: Box) -> float:
    """How far from a box's point an arrow stops."""
    if isinstance(box.plan, Star):
        return 18.0 if box.plan.at.kind == "client" else 34.0
    return RADIUS + 2


def _client(picture: Drawing, x: float, y: float, train: Train) -> None:
    epochs = "" if train.epochs is None else f", {train.epochs} epochs"
    picture.circle(x, y, RADIUS, "client", title=f"client {train.client} trains{epochs}")
    picture.text(x, y, str(train.client), size=10 if train.client < 1000 else 8, anchor="middle", colour="paper")


def _place(picture: Drawing, x: float, y: float, place: Place) -> None:
    title = f"models meet at {place}"
    if place.kind == "client":
        picture.circle(x, y, RADIUS + 3, "edge", title=title)
        picture.text(x, y, str(place.number), size=11, anchor="middle", colour="paper", bold=True)
        return
    text = "cloud" if place.kind == "cloud" else f"edge {place.number}"
    wide = 8.0 * len(text) + 6
    picture.rect(x - wide / 2, y - 10, wide, 20, place.kind, title=title)
    picture.text(x, y, text, size=12, anchor="middle", colour="paper")


def _arrow(picture: Drawing, begin: Point, end: Point, off: float, on: float) -> None:
    """From one to the next, leaving room for both."""
    length = math.dist(begin, end)
    if length <= off + on:
        return
    ux, uy = (end[0] - begin[0]) / length, (end[1] - begin[1]) / length
    tip = end[0] - on * ux, end[1] - on * uy
    picture.line([(begin[0] + off * ux, begin[1] + off * uy), tip], "send", 1.8)
    back = tip[0] - 7 * ux, tip[1] - 7 * uy
    picture.area([tip, (back[0] - 4 * uy, back[1] + 4 * ux), (back[0] + 4 * uy, back[1] - 4 * ux)], "send")
