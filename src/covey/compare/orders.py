"""Orders that should come out, in words: `a > b > c`, of another column `loss: b > a`, of all the others `a > *`.

A word is the name of a row. In a comparison with swept settings it may be that of a run, which stands for its rows: the
order is then expected for every combination of swept values. `*` is every other run with the same swept values, or,
beside the name of a row, every other row; each of them is an order of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from covey.errors import BadValue, UnknownName

OTHERS = "*"
SEVERAL = " · "


@dataclass(frozen=True)
class Order:
    """Rows from the highest to the lowest, in a column, or in the one that the comparison is about."""

    column: str | None
    names: tuple[str, ...]

    def __str__(self) -> str:
        order = " > ".join(self.names)
        return order if self.column is None else f"{self.column}: {order}"


def order_of(rule: str) -> Order:
    """What an order says, word by word.

    >>> order_of("fedgsp > *").names, order_of("loss: fedavg > fedgsp").column
    (('fedgsp', '*'), 'loss')
    """
    column, colon, names = rule.partition(": ")
    if not colon or not re.fullmatch(r"\w+", column):
        column, names = "", rule
    return Order(column or None, tuple(name.strip() for name in names.split(" > " if " > " in names else ">")))


def orders_of(rules: Iterable[str], rows: Mapping[str, Mapping[str, str]]) -> list[Order]:
    """The orders that these rules stand for; `rows` are the labels of every row by its name.

    >>> rows = {f"{run}, {lr}": {"run": run, "lr": lr} for run in "abc" for lr in ("low", "high")}
    >>> [str(order) for order in orders_of(["a > *"], rows)]
    ['a, low > b, low', 'a, low > c, low', 'a, high > b, high', 'a, high > c, high']
    >>> [str(order) for order in orders_of(["loss: c > b"], rows)]
    ['loss: c, low > b, low', 'loss: c, high > b, high']
    """
    found = []
    for rule in rules:
        order = order_of(rule)
        for swept in _places(order, rows):
            found += [Order(order.column, names) for names in _filled(rule, order.names, swept)]
    return list(dict.fromkeys(found))


def in_short(claims: Iterable[str], rows: Mapping[str, Mapping[str, str]] | None = None) -> list[str]:
    """The same orders in fewer words; `rows` are the labels of every row by its name.

    Orders of one row against several, in one column, become one, and what is said of several swept values is said once:

    >>> in_short(["a > b", "a > c", "loss: b > a", "loss: c > a", "d > e > f"])
    ['a > b · c', 'loss: b · c > a', 'd > e > f']
    >>> rows = {f"{run}, lr={lr}": {"run": run, "lr": lr} for run in "abc" for lr in ("1", "2")}
    >>> in_short(["a, lr=1 > b, lr=1", "a, lr=2 > b, lr=2", "c, lr=2 > c, lr=1"], rows)
    ['a > b (lr=1; lr=2)', 'lr=2 > lr=1 (c)']
    """
    by_place: dict[str, list[Order]] = {}
    for claim in claims:
        order, place = _apart(order_of(claim), rows or {})
        by_place.setdefault(place, []).append(order)
    places: dict[str, list[str]] = {}
    for place, orders in by_place.items():
        for order in _merged(orders):
            places.setdefault(str(order), []).append(place)
    return [f"{text} ({'; '.join(there)})" if any(there) else text for text, there in places.items()]


def label_of(key: str, label: str) -> str:
    """How a row's name says what it has of a swept setting.

    >>> label_of("lr", "0.1"), label_of("data", "FMNIST")
    ('lr=0.1', 'FMNIST')
    """
    return f"{key}={label}" if label.replace(".", "", 1).isdecimal() else label


def _apart(order: Order, rows: Mapping[str, Mapping[str, str]]) -> tuple[Order, str]:
    """The order in words in which its rows differ, and in words what they have in common and other rows have not."""
    labels = [rows.get(name, {}) for name in order.names]
    varied = [key for key in labels[0] if len({row.get(key) for row in rows.values()}) > 1]
    common = [key for key in varied if len({own.get(key) for own in labels}) == 1]
    if not common or common == varied:
        return order, ""
    names = tuple(", ".join(label_of(key, own[key]) for key in varied if key not in common) for own in labels)
    return Order(order.column, names), ", ".join(label_of(key, labels[0][key]) for key in common)


def _merged(orders: Sequence[Order]) -> list[Order]:
    """Those of one row against several, in one column, as one."""
    pairs = [order for order in orders if len(order.names) == 2]
    above = Counter((order.column, order.names[0]) for order in pairs)
    below = Counter((order.column, order.names[1]) for order in pairs)
    said: dict[object, list[Order]] = {}
    for order in orders:
        high, low = (order.column, order.names[0]), (order.column, order.names[1])
        of_high = len(order.names) == 2 and above[high] >= below[low]
        key = order if len(order.names) > 2 else ("above", high) if of_high else ("below", low)
        said.setdefault(key, []).append(order)
    found = []
    for alike in said.values():
        sides = [SEVERAL.join(dict.fromkeys(side)) for side in zip(*(order.names for order in alike), strict=True)]
        found.append(Order(alike[0].column, tuple(sides)))
    return found


def is_of(rule: str, rows: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether all that it names is there."""
    known = {*rows, *(labels.get("run", name) for name, labels in rows.items()), OTHERS}
    return known.issuperset(order_of(rule).names)


def _places(order: Order, rows: Mapping[str, Mapping[str, str]]) -> list[dict[str, str]]:
    """Where the order is expected: the rows that its words may mean, by word; once for every combination it is of."""
    named = [word for word in order.names if word != OTHERS]
    if rows.keys() >= set(named):
        return [{name: name for name in rows}]
    swept: dict[str, dict[str, str]] = {}
    for name, labels in rows.items():
        place = repr({key: label for key, label in labels.items() if key != "run"})
        swept.setdefault(place, {})[labels.get("run", name)] = name
    for word in named:
        if not any(word in place for place in swept.values()):
            raise UnknownName("run in expect", word, [*rows, *dict.fromkeys(run for p in swept.values() for run in p)])
    return [place for place in swept.values() if place.keys() >= set(named)]


def _filled(rule: str, words: Sequence[str], place: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The rows that the words mean; where one stands for all others, once with each of these."""
    if words.count(OTHERS) > 1 or len(words) < 2 or set(words) == {OTHERS}:
        raise BadValue("expect", rule, "two runs or more with > between them, one of them at most *")
    if OTHERS not in words:
        yield tuple(place[word] for word in words)
        return
    for other in place:
        if other not in words:
            yield tuple(place[other if word == OTHERS else word] for word in words)
