"""Reference pages made from the code: the command line, settings in files, the Python API, callbacks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click

import covey
from covey.cli.main import COMMANDS, command
from covey.cli.options import panel_of
from covey.compare.comparison import Terms
from covey.experiment import Experiment

CALLBACKS = {
    "covey.loop": ("Report", "Recorder"),
    "covey.meter": ("Meter", "Ran"),
    "covey.track": ("Tracker", "TensorBoard", "MLflow", "WandB"),
}


EXAMPLE = """```python
import covey


def enough(report):
    return report.metrics["accuracy"] > 0.5


run = covey.run("fedavg", clients=4, rounds=20, mode="one-by-one", callbacks=[enough])
print(run.summary["rounds"])
```
"""


def pages() -> dict[str, str]:
    """Every page by its path."""
    return {
        "reference/cli.md": "\n".join(_cli()),
        "reference/settings.md": "\n".join(_settings()),
        "reference/python.md": "\n".join(_python()),
        "reference/callbacks.md": "\n".join(_callbacks()),
    }


def _cli() -> Iterator[str]:
    yield "# Command line\n\nMade from the commands themselves; `covey COMMAND --help` shows the same.\n"
    for name in COMMANDS:
        found = command(name)
        inner = found.commands if isinstance(found, click.Group) else {}
        yield from _command(name, found)
        for word, one in inner.items():
            yield from _command(f"{name} {word}", one)


def _command(name: str, found: click.Command) -> Iterator[str]:
    yield f"\n## covey {name}\n"
    yield _prose(found.help or "")
    arguments = [p for p in found.params if isinstance(p, click.Argument)]
    options = [p for p in found.params if isinstance(p, click.Option) and p.name != "help"]
    if arguments:
        yield "\n| argument | what it is |\n|---|---|"
        for argument in arguments:
            yield f"| `{_metavar(argument, found)}` | {_cell(getattr(argument, 'help', ''))} |"
    if options:
        yield "\n| option | what it is |\n|---|---|"
        for option in options:
            yield f"| {', '.join(f'`{word}`' for word in option.opts)} | {_cell(option.help or '')}{_default(option)} |"


def _metavar(argument: click.Argument, found: click.Command) -> str:
    return argument.make_metavar(click.Context(found)).replace("|", "\\|")


def _default(option: click.Option) -> str:
    if not option.show_default or option.default in (None, False, ()) or callable(option.default):
        return ""
    return f" (default: {_cell(str(option.default))})"


def _settings() -> Iterator[str]:
    yield "# Settings\n\nMade from the code. In a TOML file a setting stands at the top level, on the command line"
    yield "`decay_every` is `--decay-every`, in Python `covey.run(…, decay_every=…)`. An algorithm's own settings are"
    yield "on its page.\n"
    panels: dict[str, list[str]] = {}
    for name, field in Experiment.model_fields.items():
        if name in ("algorithm", "options"):
            continue
        row = f"| `{name}` | {_value(field.default)} | {_cell(field.description or '')} |"
        panels.setdefault(panel_of(name), []).append(row)
    for panel, rows in panels.items():
        yield f"\n## {panel}\n\n| setting | default | what it is |\n|---|---|---|"
        yield from rows
    yield "\n## Comparisons\n\nThe table `[comparison]` of a file ([experiments in files](../toml.md)).\n"
    yield "| term | default | what it is |\n|---|---|---|"
    for name, field in Terms.model_fields.items():
        yield f"| `{name}` | {_value(field.default)} | {_cell(field.description or '')} |"


def _python() -> Iterator[str]:
    yield "# Python\n\nEverything that `import covey` gives, made from the code.\n"
    for name in covey.__all__:
        yield from _thing(f"covey.{name}", getattr(covey, name))


def _callbacks() -> Iterator[str]:
    yield "# Callbacks, recorders, meters, trackers\n"
    yield "A callback is any function of a `Report`; it is called after every round, and True ends the run:\n"
    yield EXAMPLE
    for module, names in CALLBACKS.items():
        found = __import__(module, fromlist=names)
        for name in names:
            yield from _thing(f"{module}.{name}", getattr(found, name))


def _thing(name: str, thing: Any) -> Iterator[str]:
    yield f"\n## {name}\n"
    if inspect.isclass(thing) or inspect.isfunction(thing):
        yield f"```text\n{_signature(name, thing)}\n```\n"
        yield _prose(inspect.getdoc(thing) or "")
    else:
        yield f"`{_cell(str(thing))[:200]}`\n"
    if inspect.isclass(thing):
        for word, inner in vars(thing).items():
            call = inner.__func__ if isinstance(inner, classmethod | staticmethod) else inner
            if word.startswith("_") or not (inspect.isfunction(call) or isinstance(call, property)):
                continue
            told = "" if isinstance(call, property) else _signature("", call)
            yield f"\n**`{word}{told}`** {_prose(inspect.getdoc(call) or '').strip()}\n"


def _signature(name: str, thing: Any) -> str:
    try:
        text = str(inspect.signature(thing))
    except (ValueError, TypeError):
        return name
    text = re.sub(r"'", "", text)
    return f"{name}{text}" if len(text) < 100 else f"{name}(\n    " + ",\n    ".join(_split(text)) + "\n)"


def _split(signature: str) -> list[str]:
    """The parameters of a long signature, one by one; commas inside brackets part nothing."""
    inside, _, result = signature[1:].rpartition(")")
    parts, depth, begin = [], 0, 0
    for at, letter in enumerate(inside):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and not depth:
            parts.append(inside[begin:at].strip())
            begin = at + 1
    return [*parts, inside[begin:].strip() + (f"  # gives{result.removeprefix(' ->')}" if result.strip() else "")]


def _prose(text: str) -> str:
    """A docstring as Markdown: examples fenced, parameters as a list, the rest as it is."""
    lines, kept, code = inspect.cleandoc(text).split("\n"), [], False
    for line in lines:
        starts = line.startswith(">>>")
        if starts and not code:
            kept += ["", "```pycon"]
            code = True
        elif code and not line.strip():
            kept += ["```", ""]
            code = False
            continue
        parameter = None if code else re.fullmatch(r"([a-z_][a-z0-9_]*): (.+)", line)
        kept.append(f"- `{parameter[1]}`: {parameter[2]}" if parameter else line if code else _escaped(line))
    return "\n".join([*kept, "```"] if code else kept) + "\n"


def _escaped(line: str) -> str:
    """Text in which nothing is markup but what stands in backticks."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]#])", r"\\\1", p) for p in parts)


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split())).replace("|", "\\|")


def _value(value: Any) -> str:
    if value is None or repr(value) == "PydanticUndefined":
        return ""
    return f"`{value}`" if value != "" else ""
