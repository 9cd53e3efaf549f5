"""A training step as a straight line of tensor operations.

`vmap` of `grad` finds out at every step anew what to run. A trace finds out once, and the line it leaves behind can be
improved: views that change nothing go, and where a parameter's gradient is a product of matrices that only its update
or its velocity reads, both become one operation, so that the gradient, as large as the model, is never written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

Argument = dict[str, Tensor] | Tensor | None
aten = torch.ops.aten
SAME_VALUES = {aten.view.default, aten._unsafe_view.default, aten.expand.default}


def trace(step: Callable[..., None], arguments: Sequence[Argument], *, compiled: bool) -> Callable[..., None]:
    """The step for tensors shaped like these, as a function of `tensors(arguments)`; nothing here is changed.

    Compiled, the line is fused into a few loops; else it runs operation by operation.
    """
    from torch.fx.experimental.proxy_tensor import make_fx  # a second to import, which only training waits for

    def flat(*given: Tensor) -> None:
        step(*_arranged(arguments, iter(given)))

    line = make_fx(flat)(*(tensor.clone() for tensor in tensors(arguments)))
    _drop_idle_views(line)
    if not compiled:
        _join_products_and_updates(line)
    line.graph.eliminate_dead_code()
    line.recompile()
    run: Callable[..., None] = torch.compile(line, dynamic=False) if compiled else line.forward
    return run


def tensors(arguments: Sequence[Argument]) -> list[Tensor]:
    """The tensors in these arguments, in order."""
    found: list[Tensor] = []
    for argument in arguments:
        if isinstance(argument, dict):
            found += argument.values()
        elif argument is not None:
            found.append(argument)
    return found


def _arranged(arguments: Sequence[Argument], given: Iterator[Tensor]) -> list[Argument]:
    """Arguments like these, of other tensors: the inverse of `tensors`."""
    return [
        {name: next(given) for name in like} if isinstance(like, dict) else None if like is None else next(given)
        for like in arguments
    ]


def _drop_idle_views(line: GraphModule) -> None:
    """Remove views to the shape that is there already, and two transpositions that cancel."""
    for node in list(line.graph.nodes):
        source = node.args[0] if node.args else None
        if not isinstance(source, Node):
            continue
        if node.target in SAME_VALUES and _shape(node) == _shape(source):
            node.replace_all_uses_with(source)
        elif node.target is aten.transpose.int is source.target and node.args[1:] == source.args[1:]:
            node.replace_all_uses_with(source.args[0])
    line.graph.eliminate_dead_code()


def _join_products_and_updates(line: GraphModule) -> None:
    """Turn "gradient = a @ b, p <- p - rate gradient" into "p <- p + (-rate a) @ b", scaling the smaller factor.

    Velocities take a gradient in the same way. Where more than the gradient is added (SCAFFOLD's variates), the sum is
    not written down either: its terms are added one after another, the product last. FedProx's term is a number times
    p - q: it moves p towards q in one operation, which comes first.
    """
    for node in list(line.graph.nodes):
        update = _update(node)
        if update is None:
            continue
        target, rate, added, sign = update
        terms, sums = _terms(added, sign)
        products = [term for term in terms if _is_lone_product(term[1], target)]
        if len(products) != 1:
            continue
        reads = list(_reads(products[0][1], terms, sums))
        if any(_origin(read) is _origin(target) or _changed_since(read, since, node) for read, since in reads):
            continue  # the sum would be of values that are no longer there
        others = [term for term in terms if term != products[0]]
        pull = next((term for term in others if _is_pull(term[1], target, node)), None)
        with line.graph.inserting_before(node):
            if pull is not None and rate is not None:
                _pull(line, target, rate, *pull)
                others.remove(pull)
            for sign, other in others:
                _add(line, target, rate, other, sign)
            _add_product(line, target, rate, *products[0])
        node.replace_all_uses_with(target)
        line.graph.erase_node(node)


def _update(node: Node) -> tuple[Any, Any, Node, Any] | None:
    """What is changed in place, by what it is scaled, what is added and its sign; None for other operations."""
    if node.target is aten.addcmul_.default and node.kwargs.get("value", 1) in (1, -1):
        target, rate, added = node.args
        scalar = isinstance(rate, Node) and _shape(rate)[1:] == (1,) * (len(_shape(target)) - 1)
        return (target, rate, added, node.kwargs.get("value", 1)) if scalar and isinstance(added, Node) else None
    if node.target is aten.add_.Tensor and not node.kwargs and isinstance(node.args[1], Node):
        return node.args[0], None, node.args[1], 1
    return None


def _terms(node: Any, sign: float) -> tuple[list[tuple[float, Node]], list[Node]]:
    """The terms of a sum that nobody else reads, with their signs, and the operations that add them."""
    sums = (aten.add.Tensor, aten.sub.Tensor)
    if node.target not in sums or node.kwargs or len(node.users) > 1 or not isinstance(node.args[1], Node):
        return [(sign, node)], []
    first, added = _terms(node.args[0], sign)
    second, more = _terms(node.args[1], sign if node.target is aten.add.Tensor else -sign)
    return first + second, [*added, *more, node]


def _is_lone_product(node: Node, target: Node) -> bool:
    """Whether it is a product of matrices, of the target's shape, that nobody else reads."""
    return node.target is aten.bmm.default and len(node.users) == 1 and _shape(node) == _shape(target)


def _reads(product: Node, terms: list[tuple[float, Node]], sums: list[Node]) -> Iterator[tuple[Any, Node]]:
    """What will be read at the update, and after which operation it must not have been changed."""
    for factor in product.args:
        yield factor, product
    for _, other in terms:
        if other is not product:
            yield other, next(node for node in sums if other in node.args)


def _changed_since(read: Any, since: Node, update: Node) -> bool:
    changed = {_origin(other.args[0]) for other in _between(since, update) if _changes_its_input(other)}
    return _origin(read) in changed


def _is_pull(node: Node, target: Node, update: Node) -> bool:
    """Whether it is a number times how far the target, as the update finds it, is from something else."""
    if node.target is not aten.mul.Tensor or len(node.users) > 1 or isinstance(node.args[1], Node):
        return False
    way = node.args[0]
    if not isinstance(way, Node) or way.target is not aten.sub.Tensor or way.kwargs or len(way.users) > 1:
        return False
    here, there = way.args
    alone = isinstance(there, Node) and _origin(there) is not _origin(target)
    return here is target and alone and not any(_changed_since(read, way, update) for read in way.args)


def _pull(line: GraphModule, target: Node, rate: Node, sign: float, pull: Node) -> None:
    """Turn "p <- p + sign rate strength (p - q)" into "p <- p moved towards q by -sign rate strength"."""
    way, strength = pull.args
    assert isinstance(way, Node)
    share = line.graph.call_function(aten.mul.Tensor, (rate, -sign * strength))  # type: ignore[operator]
    line.graph.call_function(aten.lerp_.Tensor, (target, way.args[1], share))


def _add(line: GraphModule, target: Node, rate: Node | None, term: Node, sign: float) -> None:
    if rate is None:
        line.graph.call_function(aten.add_.Tensor, (target, term), {} if sign == 1 else {"alpha": sign})
    else:
        line.graph.call_function(aten.addcmul_.default, (target, rate, term), {"value": sign})


def _add_product(line: GraphModule, target: Node, rate: Node | None, sign: float, product: Node) -> None:
    a, b = product.args
    if rate is not None:
        scale = rate if sign == 1 else line.graph.call_function(aten.neg.default, (rate,))
        if _shape(a).numel() <= _shape(b).numel():
            a = line.graph.call_function(aten.mul.Tensor, (a, scale))
        else:
            b = line.graph.call_function(aten.mul.Tensor, (b, scale))
        sign = 1
    line.graph.call_function(aten.baddbmm_.default, (target, a, b), {} if sign == 1 else {"alpha": sign})


def _between(first: Node, last: Node) -> Iterator[Node]:
    node = first.next
    while node is not last:
        yield node
        node = node.next


def _changes_its_input(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _origin(node: Any) -> Any:
    """Whose memory the value of a node may lie in: back through views and changes in place."""
    while isinstance(node, Node) and node.op == "call_function":
        schema = getattr(node.target, "_schema", None)  # none: an item of what an operation returned
        if schema is not None and not _shares(node.target):
            break
        node = node.args[0]
    return node


def _shares(operation: Any) -> bool:
    """Whether what it returns lies in its first input's memory."""
    returns = operation._schema.returns
    return operation is aten._unsafe_view.default or bool(returns and returns[0].alias_info)


def _shape(node: Any) -> torch.Size:
    shape: torch.Size = node.meta["tensor_meta"].shape
    return shape
