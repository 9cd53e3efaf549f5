"""Settings of a run, as words of a command or as a TOML file: plausible ones, odd ones, and several at once."""

from __future__ import annotations

import json
import math
import tomllib
import types
import typing
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from covey import ALGORITHMS, Experiment
from covey.attack import ATTACKS
from covey.data import PARTITIONS
from covey.grouping import GROUPINGS
from covey.local import RULES
from covey.merge import MERGES, SERVERS
from covey.models import MODELS
from covey.network.devices import DEVICES
from covey.registry import Registry
from covey.theory import PRICES
from tools.call import SMALL
from tools.fuzz import odd
from tools.fuzz.case import Case
from tools.fuzz.damage import damaged

Draw = Callable[[st.SearchStrategy[Any]], Any]

ON_NETWORK = {"link", "trunk", "device", "server_device", "stragglers", "day", "group_operation", "stop_at_seconds"}
LONG = ("rounds",)  # more of these is more to do, not a fault
REGISTRIES: list[Registry[Any]] = [PARTITIONS, GROUPINGS, RULES, MERGES, SERVERS, MODELS, DEVICES, PRICES, ATTACKS]
NETWORKS = ["star", "ring", "tree", "fat-tree", "jellyfish", "net.csv", "net.graphml"]
NAMES = sorted({name for table in REGISTRIES for name in table.names} | {*NETWORKS, "digits", "weights", "uniform"})
TYPICAL: dict[str, list[str]] = {
    "data": ["digits"],
    "grouping": GROUPINGS.names,
    "local": [*RULES.names, "fedprox:0.01"],
    "merge": MERGES.names,
    "server": [*SERVERS.names, "adam:0.1"],
    "model": MODELS.names,
    "prices": PRICES.names,
    "partition": ["iid", "dirichlet:0.3", "shards:2", "natural"],
    "network": ["star", "ring", "tree:2", "fat-tree:4", "jellyfish:4,2"],
    "link": ["10MB/s,1ms", "1Gbit/s"],
    "trunk": ["10MB/s,1ms", "1Gbit/s"],
    "device": [*DEVICES.names, "5gflops"],
    "server_device": DEVICES.names,
    "stragglers": ["0.1:5", "1:2"],
    "group_operation": ["secure-aggregation", "quadratic:1"],
    "sampling": ["weights", "uniform"],
    "attack": [*ATTACKS.names, "sign-flip:0.25"],
    "executor": ["local"],
}


def kinds_of(algorithm: str) -> dict[str, Any]:
    """Every setting a run of that algorithm has, with its type."""
    own = {
        name: field.annotation
        for name, field in Experiment.model_fields.items()
        if name not in ("algorithm", "options")
    }
    thing = ALGORITHMS[algorithm]
    hints = typing.get_type_hints(thing)
    return own | {name: hints.get(name, Any) for name, field in thing.__dataclass_fields__.items() if field.init}


def plausible(kind: Any) -> st.SearchStrategy[Any]:
    """Values such as the type asks for."""
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return st.sampled_from(inner)
    if typing.get_origin(kind) in (typing.Union, types.UnionType, typing.Annotated):
        return (
            st.one_of(*(plausible(k) for k in inner if isinstance(k, type) or typing.get_origin(k)))
            if inner
            else odd.texts
        )
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.sampled_from([1, 1, 2, 3, 4, 0])
    if kind is float:
        return st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9, 0.99, 1.0, 2.0, 0.0])
    if typing.get_origin(kind) in (list, tuple):
        return st.lists(plausible(inner[0]), max_size=3) if inner else odd.values
    if kind is str:
        return odd.word(NAMES)
    return st.nothing() if kind is type(None) else odd.values


@st.composite
def settings(draw: Draw, algorithm: str) -> dict[str, Any]:
    """One to four settings; all of them plausible, or one of them odd, so that it is looked at."""
    kinds = kinds_of(algorithm)
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=4, unique=True))
    chosen: dict[str, Any] = {}
    for name in names:
        fitting = st.sampled_from(TYPICAL[name]) if name in TYPICAL else plausible(kinds[name])
        chosen[name] = draw(st.integers(1, 3) if name in LONG else fitting)
    if "network" not in chosen and chosen.keys() & ON_NETWORK:
        chosen["network"] = "star"
    strange = draw(st.integers(0, 9))
    if strange < 4:
        name = draw(st.sampled_from(names))
        unfit = odd.wholes.filter(lambda number: not 0 < number < 2**63) if name in LONG else odd.values
        chosen[name] = draw(st.one_of(odd.word(NAMES), unfit))
    elif strange == 4:
        chosen[draw(odd.texts)] = draw(odd.values)
    return chosen


def toml(value: Any) -> str:
    """A value as TOML writes it, or nearly: some of what is odd has no TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


def reads_as(text: str) -> Any:
    """What `--set key=text` says: TOML where it is TOML, else the text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text


@st.composite
def typed(draw: Draw) -> Case:
    """`covey run`, `price` or `compare` with settings as options and as `--set`."""
    algorithm = draw(st.sampled_from(ALGORITHMS.names))
    chosen = draw(settings(algorithm))
    words, given = [draw(st.sampled_from(["run", "run", "run", "run", "price", "compare"])), algorithm], {}
    for name, value in SMALL.items():
        if name not in chosen:
            words += [f"--{name}", str(value)]
    for name, value in chosen.items():
        text = value if isinstance(value, str) else toml(value)
        text = text.replace("\0", "")  # no shell hands one over
        if name in Experiment.model_fields and draw(st.booleans()):
            words += [f"--{name.replace('_', '-')}={text}"]
            given[name] = text
        else:
            words += ["--set", f"{name}={text}".replace("\0", "")]
            given[name.partition("=")[0].strip().replace("-", "_")] = reads_as(text)
    if draw(st.integers(0, 3)):
        words.append("--json")
    given = {name: value for name, value in given.items() if "=" not in name}
    return Case("settings", tuple(words), given=given if words[0] == "run" else {})


@st.composite
def written(draw: Draw) -> Case:
    """`covey run FILE.toml`; a third of the files are damaged."""
    algorithm = draw(st.sampled_from(ALGORITHMS.names))
    chosen = {**SMALL, "algorithm": algorithm, **draw(settings(algorithm))}
    lines = [
        f"{name if name.replace('_', '').isalnum() else json.dumps(name)} = {toml(v)}" for name, v in chosen.items()
    ]
    content = ("\n".join(lines) + "\n").encode(errors="surrogatepass")
    words = ["run", "mine.toml", "--json"]
    if draw(st.integers(0, 2)) == 0:
        return Case("toml", (*words, "--rounds", "1"), {"mine.toml": draw(damaged(content))})
    return Case("toml", tuple(words), {"mine.toml": content}, given={k: v for k, v in chosen.items() if k != "options"})
