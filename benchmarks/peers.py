"""covey beside pfl, Flower's simulation and a plain PyTorch loop, on the same work.

    python -m benchmarks.peers [--json] [--models 2nn,lenet] [--peers pfl,flower,loop] [--quick] [--plot peers.png]

FedAvg, 100 of 1,000 clients a round, 60 samples a client, batches of 10, one local epoch: microseconds per client step
of whole rounds, and how many times as long the others take. Every contender is a process of its own with the
environment a user has (`benchmarks/peer_scripts/run_*.py`); they take turns, and the fastest round of each counts. What
happens once, such as compiling or starting workers, is over before the timed rounds and reported as first round. Nobody
evaluates while being timed; covey with its evaluation after every round is a line of its own in the table.

pfl and Flower are installed in virtual environments of their own, with the torch of constraints.txt, under
`.cache/peers` or the folder `$COVEY_PEERS` names. Images are Fashion-MNIST's and text is Shakespeare's where covey
finds them (`covey data`), or made up in the same shape, and then the table says so; text starts over at its end until
everybody has 60 sequences. Where a contender can be run in several ways, the best one counts: the loop and pfl on one
thread and on all of them; pfl with a process on every core is shown apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from covey.data import Dataset, find, load

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(__file__).resolve().parent / "peer_scripts"
ENVIRONMENTS = {"pfl": "pfl[pytorch]==0.6.*", "flower": "flwr[simulation]==1.41.*"}
WORK = {"clients": 1000, "cohort": 100, "samples": 60, "batch": 10, "lr": 0.05}
TINY = {**WORK, "clients": 20, "cohort": 4}
ROUNDS = {"softmax-regression": 20, "2nn": 10, "lenet": 6, "mcmahan-cnn": 3, "char-lstm": 2}
TURNS = 3
QUIET = {  # Flower and Ray neither send nor ask for anything
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}


@dataclass(frozen=True)
class Contender:
    """A line of the table: which script, in which environment, and the ways it may be run in."""

    name: str
    script: str
    ways: tuple[str, ...]
    environment: str | None = None


CONTENDERS = {
    "covey": (
        Contender("covey", "run_covey", ("plain",)),
        Contender("covey, evaluating", "run_covey", ("evaluating",)),
    ),
    "loop": (Contender("loop", "run_loop", ("1", "all")),),
    "pfl": (
        Contender("pfl", "run_pfl", ("1", "all"), "pfl"),
        Contender("pfl, a process a core", "run_pfl", ("processes",), "pfl"),
    ),
    "flower": (Contender("flower", "run_flower", ("processes",), "flower"),),
}


@dataclass
class Figure:
    """The fastest round of a contender so far, in seconds, the way that gave it, and its slowest first round."""

    seconds: float = float("inf")
    way: str = ""
    first: float = 0.0
    losses: list[tuple[float, float]] = field(default_factory=list)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def folder() -> Path:
    """Where environments and data are kept."""
    return Path(os.environ.get("COVEY_PEERS") or ROOT / ".cache" / "peers").expanduser().resolve()


def run(command: list[str], **environment: str) -> str:
    """The standard output of a program; when it fails, the end of what it said is the error."""
    # how many threads there are and how they wait is each contender's own affair
    usual = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    done = subprocess.run(command, capture_output=True, text=True, env={**usual, **environment})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def interpreter(name: str | None) -> str:
    """The Python of that environment, which is made if it is not there; no name is this one."""
    if name is None:
        return sys.executable
    torch = re.search(r"^torch==.*$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    wanted = [torch[0] if torch else "torch", ENVIRONMENTS[name]]
    place = folder() / f"{name}-{hashlib.sha256(repr(wanted).encode()).hexdigest()[:8]}"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        say(f"installing {' and '.join(wanted)} in {place}")
        run([sys.executable, "-m", "venv", "--clear", str(place)])
        # torch first: what asks for any torch then takes the one that is there
        for requirement in wanted:
            run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement, wanted[0]])
        (place / "ready").touch()
    return str(python)


def made_up(kind: str) -> Dataset:
    """Samples of the shape of the real ones, in which there is something to learn."""
    rng = np.random.default_rng(0)
    total, tests = 60_000, 10_000
    if kind == "text":
        follows = rng.integers(1, 90, 90)  # each character is mostly followed by the same one
        steps = [rng.integers(1, 90, total + tests)]
        for _ in range(80):
            surprise = rng.integers(1, 90, total + tests)
            steps.append(np.where(rng.random(total + tests) < 0.2, surprise, follows[steps[-1]]))
        x: NDArray[Any] = np.stack(steps[:-1], axis=1)
        y, classes = steps[-1], 90
    else:
        y, classes = rng.integers(0, 10, total + tests), 10
        means = rng.random((10, 1, 28, 28), dtype=np.float32)
        x = means[y] + rng.standard_normal((total + tests, 1, 28, 28), dtype=np.float32) / 2
    return Dataset("made up", x[:total], y[:total], x[total:], y[total:], classes)


def prepare(model: str, work: dict[str, Any]) -> tuple[Path, str]:
    """The folder with that model's data, and where the data is from."""
    kind, name = ("text", "shakespeare") if model == "char-lstm" else ("images", "fashion-mnist")
    source = name if find(name) else "made up"
    total = work["clients"] * work["samples"]
    place = folder() / "data" / f"{source.replace(' ', '-')}-{kind}-{total}"
    if not (place / "ready").exists():
        dataset = load(name) if find(name) else made_up(kind)
        place.mkdir(parents=True, exist_ok=True)
        order = np.resize(np.random.default_rng(0).permutation(len(dataset.y)), total)
        arrays = {"x": dataset.x[order], "y": dataset.y[order], "test_x": dataset.test_x, "test_y": dataset.test_y}
        arrays |= {"probe_x": dataset.test_x[:1000], "probe_y": dataset.test_y[:1000]}
        for array, values in arrays.items():
            np.save(place / f"{array}.npy", values)
        (place / "ready").touch()
    return place, source


def ask(contender: Contender, way: str, model: str, data: Path, work: dict[str, Any]) -> dict[str, Any]:
    """What a contender answers, run in that way in a process of its own."""
    settings = {"model": model, "data": data, "way": way, **work}
    words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    command = [interpreter(contender.environment), str(SCRIPTS / f"{contender.script}.py"), *words]
    paths = {"PYTHONPATH": str(ROOT / "src")} if contender.environment is None else {}
    said = run(command, **QUIET, FLWR_HOME=str(folder() / "flwr"), **paths)
    found: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return found


def compete(contender: Contender, model: str, data: Path, work: dict[str, Any], figure: Figure) -> None:
    """One turn: every way of the contender, the best of which may become its figure."""
    for way in contender.ways:
        found = ask(contender, way, model, data, work)
        figure.losses.append((found["loss_before"], found["loss_after"]))
        figure.first = max(figure.first, found["first_round_seconds"])
        fastest = min(found["seconds"])
        if fastest < figure.seconds:
            figure.seconds, figure.way = fastest, way
        say(
            f"{model}, {contender.name} ({way}): {1e6 * fastest / steps(work):,.0f} us a step, first round "
            f"{found['first_round_seconds']:.1f} s, loss {found['loss_before']:.3f} to {found['loss_after']:.3f}"
        )
        if not found["loss_after"] < found["loss_before"]:
            raise SystemExit(f"{contender.name} learnt nothing on {model}, so its time means nothing")


def steps(work: dict[str, Any]) -> int:
    """Client steps in a round."""
    return int(work["cohort"]) * -(-int(work["samples"]) // int(work["batch"]))


def measure(model: str, contenders: list[Contender], turns: int, work: dict[str, Any]) -> tuple[dict[str, Figure], str]:
    """Every contender's figure on one model, and where the data is from."""
    data, source = prepare(model, work)
    figures = {contender.name: Figure() for contender in contenders}
    for _ in range(turns):
        for contender in contenders:
            compete(contender, model, data, work, figures[contender.name])
    return figures, source


def summary(figures: dict[str, Figure], work: dict[str, Any]) -> dict[str, float]:
    """Covey's microseconds per client step, how many times as long the others take, and everybody's microseconds."""
    micros = {name: 1e6 * figure.seconds / steps(work) for name, figure in figures.items()}
    rounded = {f"{_key(name)}_us": round(us, 1) for name, us in micros.items()}
    times = {_key(name): round(us / micros["covey"], 2) for name, us in micros.items() if name != "covey"}
    return rounded | times | {"covey_first_round_seconds": round(figures["covey"].first, 1)}


def _key(name: str) -> str:
    return name.replace(", a process a core", "_processes").replace(", ", "_")


def table(found: dict[str, dict[str, Figure]], sources: dict[str, str], work: dict[str, Any]) -> Table:
    what = f"{work['cohort']} of {work['clients']:,} clients x {work['samples']} samples, batch {work['batch']}"
    shown = Table(title=f"microseconds per client step, whole rounds of {what}; in brackets times as long as covey")
    for column in ("model", "data", *next(iter(found.values())), "first round of covey"):
        shown.add_column(column, justify="left" if column in ("model", "data") else "right")
    for model, figures in found.items():
        base = figures["covey"].seconds
        cells = [
            f"{1e6 * figure.seconds / steps(work):,.0f}"
            + ("" if name == "covey" else f" ({figure.seconds / base:.1f}x)")
            for name, figure in figures.items()
        ]
        shown.add_row(model, sources[model], *cells, f"{figures['covey'].first:.1f} s")
    return shown


def draw(found: dict[str, dict[str, Figure]], work: dict[str, Any], path: Path) -> None:
    """A group of bars a model, a bar a contender, on a log axis; what covey takes to evaluate is left to the table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(next(iter(found.values())))
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.2 * len(names) * len(found)), layout="constrained")
    height = 0.8 / len(names)
    for place, name in enumerate(names):
        micros = [1e6 * figures[name].seconds / steps(work) for figures in found.values()]
        spots = np.arange(len(found)) + (place - (len(names) - 1) / 2) * height
        axes.bar_label(axes.barh(spots, micros, height, label=name), fmt="{:,.0f}", padding=2, fontsize=7)
    axes.set(xscale="log", xlabel="microseconds per client step", yticks=range(len(found)), yticklabels=list(found))
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--models", default=",".join(ROUNDS), help="which models, comma-separated")
    parser.add_argument("--peers", default="loop,pfl,flower", help="whom to compare with, comma-separated")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often everybody has a turn")
    parser.add_argument(
        "--quick", action="store_true", help="one turn of few rounds with 4 of 20 clients, to try it out"
    )
    parser.add_argument("--plot", type=Path, help="draw the figures into this file")
    args = parser.parse_args()
    models, peers = args.models.split(","), args.peers.split(",")
    for words, known in ((models, ROUNDS), (peers, [name for name in CONTENDERS if name != "covey"])):
        if unknown := set(words) - set(known):
            parser.error(f"{', '.join(sorted(unknown))} is unknown; there are {', '.join(known)}")
    contenders = [contender for name in ("covey", *peers) for contender in CONTENDERS[name]]
    for contender in contenders:
        interpreter(contender.environment)  # what cannot be installed shows before anything is timed
    work, turns = (TINY, 1) if args.quick else (WORK, args.turns)
    found, sources = {}, {}
    for model in models:
        rounds = 2 if args.quick else ROUNDS[model]
        found[model], sources[model] = measure(model, contenders, turns, {**work, "rounds": rounds})
    if args.plot:
        draw(found, work, args.plot)
    if args.json:
        print(json.dumps({model: summary(figures, work) for model, figures in found.items()}))
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(table(found, sources, work))


if __name__ == "__main__":
    main()
