"""The pages as HTML, made on the server: they can be read before any script has run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covey.report.amounts import size
from covey.report.html import Html, join, tag

if TYPE_CHECKING:
    from covey.report.story import Story  # a page of runs does without what draws them

AT_FIRST = 100  # runs in the first answer; the script gets the others
PAGES = {"/": "Runs", "/new": "New run", "/groups": "Groups", "/plan": "Plan"}
COLUMNS = ("run", "status", "algorithm", "data", "rounds", "accuracy", "clients' own", "traffic", "started")
PRESETS = {
    "FedAvg": {"kind": "star", "children": [{"kind": "train", "times": 20}]},
    "stars under a star": {
        "kind": "star",
        "children": [
            {"kind": "star", "times": 4, "rounds": 2, "at": "edge", "children": [{"kind": "train", "times": 5}]}
        ],
    },
    "rings under a star": {
        "kind": "star",
        "children": [{"kind": "ring", "times": 4, "children": [{"kind": "train", "times": 5}]}],
    },
    "a ring of stars": {
        "kind": "ring",
        "children": [{"kind": "star", "times": 4, "at": "edge", "children": [{"kind": "train", "times": 5}]}],
    },
    "heads in a mesh": {
        "kind": "mesh",
        "links": "ring",
        "children": [{"kind": "star", "times": 4, "at": "head", "children": [{"kind": "train", "times": 5}]}],
    },
}


def runs(rows: Sequence[dict[str, Any]], out: Path) -> str:
    """All runs, with filters."""
    algorithms = sorted({str(row["algorithm"]) for row in rows if row.get("algorithm")})
    statuses = ("running", "finished", "interrupted", "failed", "damaged")
    filters = tag(
        "form",
        _field("Search", tag("input", type="search", id="search", autocomplete="off", placeholder="name, data, tag")),
        _field("Status", _select("status", ["all", *statuses])),
        _field("Algorithm", _select("algorithm", ["all", *algorithms])),
        tag("button", "Compare chosen", type="submit", id="compare", disabled=True),
        id="filters",
        class_="row",
        role="search",
        aria_label="Runs",
    )
    head = tag(
        "tr",
        tag("th", tag("span", "chosen", class_="unseen"), scope="col"),
        [tag("th", c, scope="col") for c in COLUMNS],
    )
    body = tag("tbody", [_run_row(row) for row in rows[:AT_FIRST]], id="runs")
    table = tag(
        "table", tag("caption", "Runs, the latest first", class_="unseen"), tag("thead", head), body, class_="runs"
    )
    said = f"{len(rows):,} run{'s' * (len(rows) != 1)} in {out.name or out}"
    empty = tag("p", "There is no run yet. ", tag("a", "Start one", href="/new"), ", or: covey run fedavg")
    return _page(
        "Runs",
        "/",
        tag("h1", "Runs"),
        tag("p", said, id="count", class_="soft", role="status"),
        filters,
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Runs") if rows else empty,
        tag("button", "Show more", id="more", type="button", hidden=len(rows) <= AT_FIRST),
        data_total=len(rows),
    )


def _run_row(row: dict[str, Any]) -> Html:
    """A row as the script makes it, too."""
    name, status = row["name"], row["status"]
    if "damage" in row:
        cells = [
            tag("td"),
            tag("th", name, scope="row"),
            tag("td", status, class_="bad"),
            tag("td", row["damage"], colspan="7"),
        ]
        return tag("tr", cells, data_run=name)
    box = tag("input", type="checkbox", name="run", value=name, aria_label=f"choose {name}")
    tags = [tag("span", text, class_="tag") for text in row["tags"]]
    link = tag("a", name, href=f"/run/{name}")
    share = tag("progress", value=row["round"], max=row["rounds"] or 1, aria_label=f"rounds of {name}")
    rounds = join(share if status == "running" else None, f"{row['round']}/{row['rounds']}")
    cells = [
        tag("td", box),
        tag("th", link, tags, scope="row"),
        tag("td", status, class_=f"is-{status}"),
        tag("td", row["algorithm"]),
        tag("td", row["data"]),
        tag("td", rounds, class_="number"),
        tag("td", _score(row["accuracy"]), class_="number"),
        tag("td", _score(row["own_accuracy"]), class_="number"),
        tag("td", size(row["traffic_bytes"] or 0), class_="number"),
        tag("td", row["started"], class_="nowrap"),
    ]
    return tag("tr", cells, data_run=name)


def one(story: Story) -> str:
    """A run, live while it goes on."""
    name = story.run
    done, asked = (story.rounds[-1]["round"] if story.rounds else 0), story.config.get("rounds") or 1
    actions = [
        tag("button", "Stop", type="button", data_act="stop", data_run=name, hidden=story.status != "running"),
        tag(
            "button",
            "Go on",
            type="button",
            data_act="resume",
            data_run=name,
            hidden=story.status in ("finished", "running"),
        ),
    ]
    return _page(
        name,
        "",
        tag("h1", name),
        tag(
            "p",
            tag("span", story.status, id="status", class_=f"is-{story.status}"),
            " ",
            tag("progress", id="progress", value=done, max=asked, aria_label="rounds"),
            " ",
            tag("span", f"round {done} of {asked}", id="round"),
            role="status",
        ),
        tag("p", actions, class_="row"),
        tag("p", id="said", role="alert", class_="bad"),
        _live([story]),
        data_runs=json.dumps([name]),
    )


def compare(stories: Sequence[Story]) -> str:
    """Several runs side by side."""
    if not stories:
        return trouble("Choose runs on the first page, then compare them.")
    from covey.report.story import entries

    found = entries(stories)
    return _page(
        "Comparison",
        "",
        tag("h1", ", ".join(entry.name for entry in found[:6]) + (", …" if len(found) > 6 else "")),
        tag("p", f"{len(stories)} runs", class_="soft"),
        _live(stories),
        data_runs=json.dumps([story.run for story in stories]),
    )


def _live(stories: Sequence[Story]) -> Html:
    """Results and curves at once; what has to be made again first comes after."""
    waiting = tag("p", "Making fleets, groups and plans again from the settings …", class_="soft")
    return join(tag("div", _curves(stories), id="curves"), tag("div", waiting, id="details", aria_live="polite"))


def curves(stories: Sequence[Story]) -> str:
    """The table and the curves of these runs, as a part of a page."""
    return str(_curves(stories))


def _curves(stories: Sequence[Story]) -> Html:
    from covey.report.page import learned, results
    from covey.report.story import entries

    found = entries(stories)
    return join(results(found), learned(found))


def details(stories: Sequence[Story]) -> str:
    """The rest of a report, as a part of a page."""
    from covey.report.page import made_again
    from covey.report.story import entries

    return str(made_again(entries(stories)))


def groups(methods: Sequence[str]) -> str:
    """The grouping playground."""
    source = tag(
        "fieldset",
        tag("legend", "Fleet"),
        _field(
            "CSV: client, one column per label, optionally edge",
            tag("input", type="file", id="csv", accept=".csv,text/csv"),
        ),
        tag("p", tag("button", "Built-in fleet instead", type="button", id="builtin", hidden=True)),
        tag(
            "div",
            _number("clients", "Clients of the built-in fleet", 50, low=2, high=2000),
            _field("How labels are split", tag("input", id="partition", value="dirichlet:0.1", list="partitions")),
            tag(
                "datalist",
                [tag("option", value=word) for word in ("dirichlet:0.1", "dirichlet:0.5", "shards:2", "iid")],
                id="partitions",
            ),
            _number("edges", "Edges", 1, low=1, high=100),
            _number("fleet-seed", "Seed of the fleet", 0),
            id="built",
            class_="row",
        ),
        class_="row",
    )
    how = tag(
        "fieldset",
        tag("legend", "Grouping"),
        _field("Method", _select("method", methods, "cov")),
        _number("groups", "Groups", None, hint="as the sizes say"),
        _number("min-size", "Least clients a group", 5),
        _number("max-size", "Most clients a group", None, hint="any"),
        _field("Edges", _select("within", ["as the method does", "within edges", "across edges"])),
        _number("seed", "Seed", 0),
        class_="row",
    )
    return _page(
        "Groups",
        "/groups",
        tag("h1", "Grouping playground"),
        tag(
            "p",
            "Who should train with whom? Change anything, and see at once what labels every group holds, how even the "
            "groups are, and what secure aggregation costs them.",
            class_="soft",
        ),
        tag("form", source, how, id="playground"),
        tag("p", id="said", role="alert", class_="bad"),
        tag("div", id="figures", aria_live="polite"),
        tag(
            "div",
            tag(
                "figure",
                tag("h2", "Before: every client"),
                tag("div", id="before", class_="scroll", tabindex="0", role="region", aria_label="every client"),
                class_="wide card",
            ),
            tag(
                "figure",
                tag("h2", "After: every group"),
                tag("div", id="after", class_="scroll", tabindex="0", role="region", aria_label="every group"),
                class_="wide card",
            ),
            class_="grid",
        ),
        tag("div", id="cost"),
        tag("details", tag("summary", "Who is in which group"), tag("ol", id="members", start="0")),
    )


def plan() -> str:
    """The plan editor."""
    presets = [tag("button", name, type="button", data_preset=json.dumps(made)) for name, made in PRESETS.items()]
    settings = tag(
        "form",
        _field("Network", tag("input", id="network", value="star", list="networks")),
        tag(
            "datalist",
            [tag("option", value=word) for word in ("star", "tree:4", "fat-tree:4", "ring:10")],
            id="networks",
        ),
        _field("Links", tag("input", id="link", value="10MB/s,1ms")),
        _field("Device", tag("input", id="device", value="phone-5gflops")),
        _number("samples", "Samples a client", 100, low=1),
        _number("parameters", "Parameters of the model", 100_000, low=1),
        id="site",
        class_="row",
    )
    return _page(
        "Plan",
        "/plan",
        tag("h1", "Plan editor"),
        tag(
            "p",
            "A round is a plan: who trains, in which order, and where models meet. Begin with one of these, then "
            "change it.",
            class_="soft",
        ),
        tag("p", presets, class_="row", role="group", aria_label="Plans to begin with"),
        tag("section", tag("h2", "The tree"), tag("div", id="editor"), class_="card"),
        tag("section", tag("h2", "What it is priced on"), settings, class_="card"),
        tag("p", id="said", role="alert", class_="bad"),
        tag(
            "section",
            tag("h2", "The plan"),
            tag("p", id="sketch", class_="soft"),
            tag("div", id="drawing", class_="scroll", tabindex="0", role="region", aria_label="the plan drawn"),
            class_="card",
        ),
        tag(
            "section",
            tag("h2", "Traffic and price of a round"),
            tag("div", id="price", aria_live="polite"),
            class_="card",
        ),
        tag(
            "div",
            tag("section", tag("h2", "Who does what when"), tag("div", id="timeline", class_="picture"), class_="card"),
            tag(
                "section",
                tag("h2", "The network with its load"),
                tag("div", id="network-load", class_="picture"),
                class_="card",
            ),
            class_="grid",
        ),
    )


def new() -> str:
    """A run to begin."""
    form = tag(
        "form",
        tag(
            "div",
            _field("Algorithm", tag("input", id="algorithm", value="fedavg", required=True, list="algorithms")),
            tag(
                "datalist",
                [
                    tag("option", value=word)
                    for word in ("fedavg", "hierfavg", "fedavg-ic", "tornadoes", "ihc-fl", "group-fel", "fedgsp")
                ],
                id="algorithms",
            ),
            _field("Data", tag("input", id="data", value="digits", required=True)),
            _number("clients", "Clients", 50, low=1),
            _field("How data is split", tag("input", id="partition", value="dirichlet:0.1")),
            _number("rounds", "Rounds", 20, low=1),
            _field("Learning rate", tag("input", id="lr", type="number", value="0.1", step="any", min="0")),
            _field("Model", tag("input", id="model", value="softmax-regression")),
            _field("Network", tag("input", id="network", placeholder="none, or star, tree:5")),
            _number("seed", "Seed", 0),
            _field("Name", tag("input", id="name", placeholder="made from the algorithm", autocomplete="off")),
            class_="row",
        ),
        _field(
            "Other settings, one key=value a line",
            tag("textarea", id="more-settings", rows="4", placeholder="epochs=2"),
        ),
        tag("button", "Start", type="submit"),
        id="start",
    )
    return _page(
        "New run",
        "/new",
        tag("h1", "New run"),
        tag("p", "It is a covey run of its own, and goes on when this page is closed.", class_="soft"),
        tag("section", form, class_="card"),
        tag("p", id="said", role="alert", class_="bad"),
        tag("div", id="started", role="status"),
    )


def trouble(sentence: str) -> str:
    """A page that says what is wrong."""
    return _page("Not to be shown", "", tag("h1", "This cannot be shown"), tag("p", sentence, class_="bad"))


def _page(title: str, here: str, *inside: object, **data: Any) -> str:
    links = [tag("a", name, href=path, aria_current="page" if path == here else None) for path, name in PAGES.items()]
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} - covey"),
        tag("link", rel="stylesheet", href="/static/ui.css"),
    )
    body = join(
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag(
            "header",
            tag("a", "covey", href="/", class_="brand"),
            tag("nav", links, aria_label="Pages"),
            tag("button", "Dark", id="theme", type="button", hidden=True, aria_label="turn light into dark and back"),
            class_="bar",
        ),
        tag("main", *inside, id="main", tabindex="-1"),
        tag("script", src="/static/theme.js", defer=True),
        tag("script", src="/static/ui.js", defer=True),
    )
    name = here or ("/run" if "data_runs" in data else "/none")
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body, data_page=name, **data), lang='en')}\n"


def _field(label: str, control: Html) -> Html:
    return tag("label", tag("span", label), control, class_="field")


def _number(name: str, label: str, value: int | None, *, low: int = 0, high: int | None = None, hint: str = "") -> Html:
    shown = "" if value is None else value
    return _field(label, tag("input", type="number", id=name, value=shown, min=low, max=high, placeholder=hint or None))


def _select(name: str, words: Sequence[str], chosen: str = "") -> Html:
    return tag("select", [tag("option", word, value=word, selected=word == chosen) for word in words], id=name)


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
