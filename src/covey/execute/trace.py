"""A training step as a straight line of tensor operations.

`vmap` of `grad` finds out at every step anew what to run. A trace finds out once, and the line it leaves behind can be
improved: views that change nothing go, and where a parameter's gradient is a product of matrices that only its update
reads, product and update become one operation, so that the gradient, as large as the model, is never written down.
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
    """Turn "gradient = a @ b, p <- p - rate gradient" into "p <- p + (-rate a) @ b", scaling the smaller factor."""
    for node in list(line.graph.nodes):
        if node.target is not aten.addcmul_.default or node.kwargs.get("value") != -1:
            continue
        p, rate, product = node.args
        if product.target is not aten.bmm.default or len(product.users) > 1 or _shape(rate)[1:] != (1, 1):
            continue
        changed = {_origin(other.args[0]) for other in _between(product, node) if _changes_its_input(other)}
        if changed & {_origin(factor) for factor in product.args}:
            continue  # the product would be of values that are no longer there
        with line.graph.inserting_before(node):
            minus = line.graph.call_function(aten.neg.default, (rate,))
            a, b = product.args
            if _shape(a).numel() <= _shape(b).numel():
                a = line.graph.call_function(aten.mul.Tensor, (a, minus))
            else:
                b = line.graph.call_function(aten.mul.Tensor, (b, minus))
            line.graph.call_function(aten.baddbmm_.default, (p, a, b))
        line.graph.erase_node(node)


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
