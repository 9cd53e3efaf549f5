"""`covey flower`: an app for real devices, and a federation of them on this machine to try it on."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli.console import console, plain
from covey.cli.options import DEFAULT_OUT, Json, Out, Set, complete_algorithm
from covey.cli.progress import Watch, bars
from covey.cli.run import report
from covey.errors import BadData, RunFailed, Stopped

if TYPE_CHECKING:
    from covey.flower.federation import Federation

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Real devices, by way of Flower.")
FEW = ("beta=2", "kappa=1.0")  # FedGSP as a few nodes need it: two rings at first, and all take part
LOOK = 0.5  # seconds between looks at how far a run is


@app.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="a folder that is not there yet")]) -> None:
    """Write an app that Flower can run: a pyproject, and a file with the two functions that make it yours."""
    _check_installed()
    from covey.flower.scaffold import module_of, write_app

    write_app(folder, {})
    screen = console()
    screen.print(
        f"{plain(folder / module_of(folder) / 'app.py')} has the two functions: data and model", soft_wrap=True
    )
    screen.print(f"try it in Flower's simulation: flwr run {plain(folder)} --stream", soft_wrap=True)


@app.command()
def demo(
    nodes: Annotated[int, typer.Option(min=2, max=64, help="SuperNodes to start")] = 4,
    algorithm: Annotated[str, typer.Option(help="what they run", autocompletion=complete_algorithm)] = "fedgsp",
    rounds: Annotated[int, typer.Option(min=1, help="global rounds")] = 3,
    deadline: Annotated[float, typer.Option(min=1, help="seconds a node has for one message")] = 120.0,
    insecure: Annotated[bool, typer.Option("--insecure", help="without TLS and SuperNode keys")] = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="fork apps from a process that has torch; no option of Flower's, much faster")
    ] = False,
    set_: Set = None,
    out: Out = DEFAULT_OUT,
    as_json: Json = False,
) -> None:
    """Start a SuperLink and SuperNodes on this machine, train on them, stop all of it."""
    _check_installed()
    from covey.algorithms import ALGORITHMS
    from covey.flower.federation import Federation, ended_by_signals
    from covey.flower.scaffold import DEMO, write_app
    from covey.flower.server import read_settings

    ALGORITHMS.entry(algorithm)
    given = [*(FEW if algorithm == "fedgsp" else []), *(set_ or [])]
    config: dict[str, Any] = {"algorithm": algorithm, "rounds": rounds, "nodes": nodes, "deadline": deadline}
    config["set"] = " ".join(given)
    read_settings(config)
    name = _free_name(out, f"{algorithm}-devices")
    config |= {"out": str(out.resolve()), "run": name, "wait": deadline}
    try:
        with tempfile.TemporaryDirectory(prefix="covey-flower-") as folder, bars() as watch, ended_by_signals():
            write_app(Path(folder) / "demo", {**config, "set": ""}, DEMO)
            watch.say(f"{algorithm}: starting a SuperLink and {nodes} SuperNodes")
            devices = [{"partition-id": number, "num-partitions": nodes} for number in range(nodes)]
            with Federation(Path(folder), devices, secure=not insecure, warm=warm) as federation:
                run = federation.run(Path(folder) / "demo", {"set": config["set"]})
                _follow(run, watch, out, name, rounds)
                summary = _summary(federation, out, name)
    except KeyboardInterrupt:
        raise Stopped("stopped; the SuperLink and all SuperNodes have been ended") from None
    report(name, summary, out, as_json=as_json)
    if not as_json:
        for loss in summary["lost"]:
            console().print(plain(f"round {loss['round']}: {loss['name']} was lost: {loss['reason']}"), soft_wrap=True)


def _check_installed() -> None:
    try:
        import flwr  # noqa: F401
    except ModuleNotFoundError:
        raise BadData("covey flower needs Flower: pip install 'covey[flower]'") from None


def _free_name(out: Path, usual: str) -> str:
    from covey.store import Store

    with Store(out) as store:
        taken = {record.run for record in store.runs()}
    return next(name for number in range(1, len(taken) + 2) if (name := f"{usual}-{number}") not in taken)


def _follow(run: subprocess.Popen[bytes], watch: Watch, out: Path, name: str, rounds: int) -> None:
    """Say how far the run is until it has ended."""
    from covey.store import Store

    watch.say(f"{name}: nodes are coming, round 1")
    while run.poll() is None:
        with Store(out) as store:
            done = store.rounds(name) if any(record.run == name for record in store.runs()) else []
        if done:
            accuracy = done[-1].get("accuracy")
            scored = "" if accuracy is None else f", accuracy {accuracy:.3f}"
            watch.say(f"{name}: round {done[-1]['round']} of {rounds}{scored}")
        try:
            run.wait(LOOK)
        except subprocess.TimeoutExpired:
            continue


def _summary(federation: Federation, out: Path, name: str) -> dict[str, Any]:
    """What the run came to, and who was lost in it."""
    from covey.flower.crew import Loss
    from covey.store import Store

    with Store(out) as store:
        ended = next((record for record in store.runs() if record.run == name), None)
        if ended is None or ended.status != "finished":
            said = [line for line in federation.log("run").splitlines() if "covey: " in line]
            reason = said[-1].partition("covey: ")[2] if said else federation.log("run").strip()[-300:]
            raise RunFailed(f"the run on devices failed: {reason or 'it said nothing'}")
        events = store.events(name)
    losses = [(event["round"], loss) for event in events if (loss := Loss.read(event["text"])) is not None]
    lost = [{"round": at, "client": who.client, "name": who.name, "reason": who.reason} for at, who in losses]
    return {**ended.summary, "lost": lost}
