"""A plan as text: what `print(plan)` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from covey.plan.nodes import Forest, Mesh, Plan, Ring, Star, Train


def draw(plan: Plan) -> str:
    """The tree as text; children that train alike share a line."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield _title([plan]) if isinstance(plan, Train) else _head(plan)
    if isinstance(plan, Train):
        return
    rows: list[list[str]] = []
    alike: list[Train] = []
    for child in (*plan.children, None):
        if alike and not (isinstance(child, Train) and (child.epochs, child.rate) == (alike[0].epochs, alike[0].rate)):
            rows.append([_title(alike)])
            alike = []
        if isinstance(child, Train):
            alike.append(child)
        elif child is not None:
            rows.append(list(_lines(child)))
    for last, row in enumerate(rows, start=1 - len(rows)):
        yield ("├─ " if last else "└─ ") + row[0]
        yield from (("│  " if last else "   ") + line for line in row[1:])


def _head(plan: Star | Ring | Mesh | Forest) -> str:
    if isinstance(plan, Ring):
        return "Ring" if plan.via is None else f"Ring via {plan.via}"
    if isinstance(plan, Forest):
        return "Forest"
    if isinstance(plan, Mesh):
        return "Mesh linked " + (", ".join(f"{a}-{b}" for a, b in plan.links) or "to nobody")
    rounds = f", {plan.rounds} rounds" if plan.rounds > 1 else ""
    weights = ", own weights" if plan.weights else ""
    merge = f", merged by {plan.merge}" if plan.merge is not None else ""
    return f"Star at {plan.at}{rounds}{weights}{merge}"


def _title(alike: Sequence[Train]) -> str:
    names = [str(t.client) for t in alike]
    if len(names) > 12:
        names = [*names[:10], f"… {names[-1]} ({len(names)} clients)"]
    epochs, rate = alike[0].epochs, alike[0].rate
    how = "" if epochs is None else f", {epochs} epoch{'s' if epochs > 1 else ''}"
    return f"Train {', '.join(names)}{how}" + ("" if rate == 1 else f", rate x{rate:g}")


def sketch(plan: Plan) -> str:
    """The tree in short: the kinds of its nodes, alike children once.

    >>> sketch(Star([Ring([Train(0), Train(1)]), Ring([Train(2)]), Train(3)]))
    'Star(Ring(Train), Train)'
    """
    kind = type(plan).__name__
    if isinstance(plan, Train):
        return kind
    return f"{kind}({', '.join(dict.fromkeys(map(sketch, plan.children)))})"
