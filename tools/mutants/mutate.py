"""The faults: operators swapped, statements removed, constants and conditions changed, arguments swapped or lost.

A fault is a stretch of the source and what stands there instead, so that everything else stays as it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

COMPARE = {
    ast.Lt: ("<=", ">"), ast.LtE: ("<",), ast.Gt: (">=", "<"), ast.GtE: (">",), ast.Eq: ("!=",), ast.NotEq: ("==",),
    ast.In: ("not in",), ast.NotIn: ("in",), ast.Is: ("is not",), ast.IsNot: ("is",),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "//", ast.Pow: "*",
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin"}
LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
Stretch = tuple[int, int]
Stretches = Callable[[ast.AST], Stretch]


@dataclass(frozen=True)
class Mutant:
    """The stretch of a file's text (in characters) that is replaced, and by what.

    It begins in `line`, in a statement that begins in line `first` and ends, or has its body begin, by line `last`.
    """

    file: str
    line: int
    first: int
    last: int
    begin: int
    end: int
    text: str
    what: str

    def apply(self, source: str) -> str:
        """The source with the fault in it."""
        return source[: self.begin] + self.text + source[self.end :]

    def shown(self, source: str) -> str:
        """The line before and after, for a person."""
        before = source.splitlines()[self.line - 1].strip()
        after = self.apply(source).splitlines()[self.line - 1 : self.line]
        return f"{self.file}:{self.line}: {self.what}\n    {before}\n    {after[0].strip() if after else ''}"


def mutants(file: str, source: str) -> list[Mutant]:
    """Every fault this module knows to put into that source, where the result still compiles.

    >>> [m.apply("x = a < 2") for m in mutants("f.py", "x = a < 2")]
    ['x = a <= 2', 'x = a > 2', 'x = a < 3']
    """
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()

    def at(line: int, column: int) -> int:  # columns count bytes
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def stretch(node: ast.AST) -> Stretch:
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    found = []
    for node, (first, last) in _live(tree, (1, 1)):
        for (begin, end), text, what in _changes(node, stretch, source):
            mutant = Mutant(file, source.count("\n", 0, begin) + 1, first, last, begin, end, text, what)
            if _compiles(mutant.apply(source)):
                found.append(mutant)
    return found


def _live(node: ast.AST, lines: tuple[int, int]) -> Iterator[tuple[ast.AST, tuple[int, int]]]:
    """The nodes that are carried out, with the lines of the statement they are in.

    No annotations, no texts of errors, nothing for type checkers alone.
    """
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", None)
        lines = node.lineno, max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    yield node, lines
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "exc"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_idle(child):
                yield from _live(child, lines)


def _is_idle(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        alias = isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)
        return alias or (isinstance(target, ast.Name) and target.id == "__all__")
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


def _changes(node: ast.AST, stretch: Stretches, source: str) -> Iterator[tuple[Stretch, str, str]]:
    """What can be done to one node: where, what stands there instead, and what that is called."""
    if isinstance(node, ast.Compare):
        for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            between = stretch(left)[1], stretch(right)[0]
            for other in COMPARE[type(operator)]:
                yield between, _in_brackets(source[slice(*between)], other), "comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        between = stretch(node.left)[1], stretch(node.right)[0]
        yield between, _in_brackets(source[slice(*between)], ARITHMETIC[type(node.op)]), "arithmetic"
    elif isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            between = stretch(left)[1], stretch(right)[0]
            other = "or" if isinstance(node.op, ast.And) else "and"
            yield between, _in_brackets(source[slice(*between)], other), "and, or"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield stretch(node), source[slice(*stretch(node.operand))], "not, minus"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield stretch(node), _other(node.value), "constant"
    elif isinstance(node, ast.IfExp):
        swapped = (node.orelse, node.test, node.body)
        text = "({} if {} else {})".format(*(source[slice(*stretch(part))] for part in swapped))
        yield stretch(node), text, "branches swapped"
    elif isinstance(node, ast.If | ast.While):
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], LEAVES):
            yield stretch(node), "pass", "guard removed"
        yield stretch(node.test), f"not ({source[slice(*stretch(node.test))]})", "condition turned"
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield stretch(node), NAMES[node.id], "name"
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        end = stretch(node)[1]
        yield (end - len(node.attr), end), NAMES[node.attr], "name"
    elif isinstance(node, ast.Call):
        yield from _calls(node, stretch, source)
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield stretch(node), "pass", "statement removed"
    elif isinstance(node, ast.Break | ast.Continue):
        yield stretch(node), "continue" if isinstance(node, ast.Break) else "break", "break, continue"


def _calls(node: ast.Call, stretch: Stretches, source: str) -> Iterator[tuple[Stretch, str, str]]:
    plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
    if len(plain) >= 2 and plain == node.args:
        (begin, middle), (other, end) = stretch(plain[0]), stretch(plain[1])
        yield (begin, end), source[other:end] + source[middle:other] + source[begin:middle], "arguments swapped"
    parts = [*node.args, *node.keywords]
    for before, keyword in pairwise(parts):
        if isinstance(keyword, ast.keyword) and keyword.arg is not None:
            yield (stretch(before)[1], stretch(keyword)[1]), "", "argument lost"


def _in_brackets(between: str, operator: str) -> str:
    """What stands between two operands, with another operator; brackets around operands stay."""
    closing, opening = between.count(")"), between.count("(")
    return f"{')' * closing} {operator} {'(' * opening}"


def _other(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    return repr(2 * value if value else 1.0)


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True
