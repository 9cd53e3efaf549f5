"""The report: one page that opens without a network, understood without anything else.

What a run did not write down, and what cannot be made again from it, is said in words in the place of its picture.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from covey.grouping.measures import cov_of
from covey.plan import draw, leaves, sketch
from covey.report.amounts import size
from covey.report.bars import label_bars
from covey.report.drawing import Drawing
from covey.report.fairness import fairness, spread
from covey.report.html import Html, join, table, tag
from covey.report.lines import AXES, SCORES, SERIES, Line, lines
from covey.report.look import ASSETS, css
from covey.report.story import Entry, Story
from covey.report.tree import tree
from covey.report.wires import load, timeline

COLUMNS = {
    "accuracy": "accuracy",
    "own_accuracy": "clients' own",
    "loss": "loss",
    "round": "rounds",
    "traffic_bytes": "traffic",
    "simulated_seconds": "simulated seconds",
    "cost": "cost",
    "wall_seconds": "computing time",
}
"""The columns of the first table, where a run has them."""
BEST = {"accuracy": max, "own_accuracy": max, "loss": min}


def report(entries: Sequence[Entry], title: str) -> str:
    """The whole page."""
    body = join(
        tag(
            "header",
            tag(
                "div",
                tag("div", tag("h1", title), tag("p", _what(entries), class_="soft")),
                tag(
                    "button", "Dark", id="theme", type="button", hidden=True, aria_label="turn light into dark and back"
                ),
                class_="head",
            ),
            class_="page",
        ),
        tag("main", body_of(entries)),
        tag("footer", "Made by covey. Nothing on this page is loaded from elsewhere."),
    )
    return page(title, body, script=(ASSETS / "theme.js").read_text(encoding="utf-8"))


def page(title: str, body: Html, *, script: str) -> str:
    """A page with its colours and its script inside."""
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        Html(f"<style>{css()}</style>"),
    )
    code = Html(f"<script>{script}</script>")
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body, code), lang='en')}\n"


def body_of(entries: Sequence[Entry]) -> Html:
    """All sections."""
    return join(results(entries), learned(entries), made_again(entries))


def made_again(entries: Sequence[Entry]) -> Html:
    """The sections on what is not in the rounds: fairness, fleets, and run by run groups, plans, network, settings."""
    return join(_fairness(entries), _fleets(entries), _runs(entries))


def pictures(entries: Sequence[Entry]) -> dict[str, Drawing]:
    """Every picture of the page by a name for its file, each with its legend."""
    found: dict[str, Drawing | None] = {}
    drawn = [Line(entry.name, entry.seeds) for entry in entries]
    for score in SCORES:
        for axis in AXES:
            found[f"{score.metric}-over-{axis.short}"] = lines(drawn, axis, score, legend=True)
    if known := _own(entries):
        found["fairness"] = fairness(known)
    for number, story in enumerate(_different_fleets(entries)):
        found["clients" if number == 0 else f"clients-{number + 1}"] = _clients(story)
    for entry in entries:
        found |= {f"{entry.story.run}-{name}": picture for name, picture in _of_run(entry.story).items()}
    return {name: picture for name, picture in found.items() if picture is not None}


def _what(entries: Sequence[Entry]) -> str:
    first = entries[0].story.config
    alike = all(_fleet_of(entry.story) == _fleet_of(entries[0].story) for entry in entries)
    seeds = max(len(entry.seeds) for entry in entries)
    words = [f"{len(entries)} run{'s' * (len(entries) > 1)}" + (f", {seeds} seeds each" if seeds > 1 else "")]
    if alike:
        words += [f"{first.get('data')} split over {first.get('clients') or 'all'} clients ({first.get('partition')})"]
        words += [f"model {first.get('model')}"]
    return "; ".join(words)


def results(entries: Sequence[Entry]) -> Html:
    """Where each run ended."""
    values = {entry.name: _ends(entry.seeds) for entry in entries}
    columns = [name for name in COLUMNS if any(name in found for found in values.values())]
    best = {
        name: choose(statistics.fmean(found[name]) for found in values.values() if name in found)
        for name, choose in BEST.items()
        if name in columns and len(entries) > 1
    }
    rows: list[list[object]] = []
    for k, entry in enumerate(entries):
        found = values[entry.name]
        cells: list[object] = [join(_swatch(k), entry.name)]
        for name in columns:
            text = _told(name, found.get(name))
            top = name in best and name in found and statistics.fmean(found[name]) == best[name]
            cells.append(tag("strong", text) if top else text)
        rows.append(cells)
    several = any(len(entry.seeds) > 1 for entry in entries)
    said = "Where each run ended" + ("; the mean over its seeds, ± one standard deviation" if several else "") + "."
    if len(entries) > 1:
        said += " The best of a column is bold."
    unfinished = [entry for entry in entries if entry.story.status != "finished"]
    notes = [
        tag("p", f"{e.story.run} is {e.story.status}: this is as far as it came.", class_="bad") for e in unfinished
    ]
    heads = ["run", *(COLUMNS[name] for name in columns)]
    return _card("Results", tag("p", said, class_="soft"), table(heads, rows, caption="Results"), notes)


def _ends(seeds: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, list[float]]:
    """The newest value of every column, a seed after another; only what every seed has."""
    ends = [{k: v for row in rounds for k, v in row.items() if _is_number(v)} for rounds in seeds]
    return {name: [float(end[name]) for end in ends] for name in COLUMNS if all(name in end for end in ends)}


def _told(name: str, values: Sequence[float] | None) -> str:
    if not values:
        return "-"
    many = len(values) > 1
    mean, off = statistics.fmean(values), statistics.stdev(values) if many else 0.0
    return _amount(name, mean) + (f" ± {_amount(name, off)}" if many else "")


def _amount(name: str, value: float) -> str:
    if name in ("accuracy", "own_accuracy", "loss"):
        return f"{value:.3f}"
    if name == "round":
        return f"{value:.0f}" if value.is_integer() else f"{value:.1f}"
    if name == "traffic_bytes":
        return size(value)
    return f"{value:,.2f}" + (" s" if name == "wall_seconds" else "")


def learned(entries: Sequence[Entry]) -> Html:
    """Every score over everything it can be drawn over; a row of buttons chooses."""
    drawn = [Line(entry.name, entry.seeds) for entry in entries]
    made = {(axis.metric, score.metric): lines(drawn, axis, score) for axis in AXES for score in SCORES}
    there = [axis for axis in AXES if any(made[axis.metric, score.metric] for score in SCORES)]
    if not there:
        return _card("How they learned", _missing("No round of these runs has been evaluated yet."))
    buttons = [
        tag(
            "label",
            tag(
                "input",
                type="radio",
                name="over",
                id=f"over-{axis.metric}",
                checked=axis is there[0],
                disabled=axis not in there,
            ),
            tag("span", axis.short),
        )
        for axis in AXES
    ]
    figures = []
    for score in SCORES:
        views: list[Html] = []
        for axis in there:
            picture = made[axis.metric, score.metric]
            shown = _picture(picture) if picture else _missing(f"No run has been tested for this over {axis.label}.")
            lacking = [line.name for line in drawn if picture and not line.has(axis.metric, score.metric)]
            note = f"Not drawn, because not written down: {', '.join(lacking)}."
            views.append(tag("div", shown, _missing(note) if lacking else None, data_axis=axis.metric))
        if any(made[axis.metric, score.metric] for axis in there):
            figures.append(tag("figure", tag("h3", score.title), views))
        else:
            figures.append(tag("figure", tag("h3", score.title), _missing("No run wrote this down.")))
    lacking_axes = [f"{axis.short} ({axis.why_not})" for axis in AXES if axis not in there]
    band = any(len(entry.seeds) > 1 for entry in entries)
    return tag(
        "section",
        tag("h2", "How they learned"),
        tag(
            "p",
            "How good the model is after every round, over what it has cost so far. Left and steep is good. The "
            "accuracy of the global model and the clients' own are two questions, so each has a picture to itself.",
            " A line is the mean over seeds, its band reaches from the least to the most." if band else "",
            class_="soft",
        ),
        tag("fieldset", tag("legend", "over"), buttons, class_="switch"),
        _missing(f"Not to be had of these runs: {'; '.join(lacking_axes)}.") if lacking_axes else None,
        tag("ul", [tag("li", _swatch(k), e.name) for k, e in enumerate(entries)], class_="legend"),
        tag("div", figures, class_="grid"),
        class_="card curves",
    )


def _fairness(entries: Sequence[Entry]) -> Html:
    known = _own(entries)
    gone = [_missing(f"{e.name}: {e.story.missing['own']}") for e in entries if "own" in e.story.missing]
    if not known:
        return _card("Is every client served?", gone)
    rows: list[list[object]] = []
    for name, (k, own) in known.items():
        found = spread(own)
        cells = (found.worst, found.median, found.best, found.deviation)
        rows.append([join(_swatch(k), name), *(f"{value:.3f}" for value in cells)])
    heads = ["run", "worst tenth", "median", "best tenth", "deviation"]
    return _card(
        "Is every client served?",
        tag(
            "p",
            "Every client's accuracy on samples of its own, at the end of the run with the first seed. A run whose "
            "bars stand together at the right serves everybody; a long tail to the left means some clients are left "
            "behind. The solid mark is the median client, the dashed one the mean of the worst tenth.",
            class_="soft",
        ),
        tag(
            "div",
            tag("figure", _picture(fairness(known))),
            table(heads, rows, caption="Clients' own accuracy"),
            class_="grid",
        ),
        gone,
    )


def _own(entries: Sequence[Entry]) -> dict[str, tuple[int, Any]]:
    return {e.name: (k, e.story.own) for k, e in enumerate(entries) if e.story.own is not None}


def _fleets(entries: Sequence[Entry]) -> Html:
    told = _different_fleets(entries)
    if not told:
        return _card("Who holds what", _missing(entries[0].story.missing.get("labels", "not known")))
    figures = []
    for story in told:
        picture = _clients(story)
        assert story.labels is not None
        assert picture is not None
        cov = float(np.mean(cov_of(story.labels)))
        said = (
            f"{story.labels.shape[0]:,} clients, {int(story.labels.sum()):,} samples of {story.labels.shape[1]} "
            f"labels; mean coefficient of variation {cov:.2f} (0 would be the same share of every label)."
        )
        figures.append(tag("figure", _picture(picture), tag("figcaption", said), class_="wide"))
    return _card(
        "Who holds what, before grouping",
        tag(
            "p",
            "A bar is a client, its colours are the shares of its labels, the grey bar above is how many samples it "
            "has. The bar at the left is all clients together.",
            class_="soft",
        ),
        figures,
    )


def _different_fleets(entries: Sequence[Entry]) -> list[Story]:
    found: dict[str, Story] = {}
    for entry in entries:
        if entry.story.labels is not None:
            found.setdefault(repr(_fleet_of(entry.story)), entry.story)
    return list(found.values())


def _fleet_of(story: Story) -> list[Any]:
    keys = ("data", "clients", "partition", "edges", "samples", "windows", "test_fraction", "seed")
    return [story.config.get(key) for key in keys]


def _clients(story: Story) -> Drawing | None:
    if story.labels is None:
        return None
    return label_bars(story.labels, [str(i) for i in range(len(story.labels))], what="clients")


def _runs(entries: Sequence[Entry]) -> Html:
    """What each run was: groups, plan, network, time, settings."""
    several = len(entries) > 1
    inner = [_run(entry, k, is_open=k == 0) for k, entry in enumerate(entries)]
    what = "Open a run to see its groups, the plan of a round, the network with its load, and its settings."
    return _card("Run by run" if several else "The run", tag("p", what, class_="soft") if several else None, inner)


def _run(entry: Entry, number: int, *, is_open: bool) -> Html:
    story = entry.story
    made = _of_run(story)
    parts: list[Html] = []
    if (groups := made["groups"]) is not None and story.groups is not None and story.labels is not None:
        sums = np.stack([story.labels[list(members)].sum(axis=0) for members in story.groups])
        before, after = float(np.mean(cov_of(story.labels))), float(np.mean(cov_of(sums)))
        sizes = sorted(map(len, story.groups))
        said = (
            f"{len(sizes)} groups of {sizes[0]} to {sizes[-1]} clients, the most even first. Mean coefficient of "
            f"variation: {before:.2f} among clients, {after:.2f} among groups; the lower, the more alike the groups."
        )
        parts.append(_figure("After grouping: what each group holds", groups, said))
    else:
        parts.append(_figure("After grouping: what each group holds", None, story.missing.get("groups", "not known")))
    if (plan := made["plan"]) is not None and story.plan is not None:
        said = (
            f"Round {story.plan_round}, as the run would go on: {sketch(story.plan)}. Circles are clients that "
            "train, boxes are places where models meet; grey lines carry a model there and back, orange arrows hand it "
            "on, purple lines join heads that mix their models."
        )
        words = tag(
            "details", tag("summary", "the same in words"), tag("pre", draw(story.plan), class_="scroll", tabindex="0")
        )
        parts.append(_figure("The plan of a round", plan, said, words))
    else:
        parts.append(_figure("The plan of a round", None, story.missing.get("plan", "not known")))
    parts += _of_network(story, made)
    parts.append(_settings(story))
    title = tag("summary", join(_swatch(number), entry.name), tag("span", f"  {story.run}", class_="soft"))
    return tag("details", title, tag("div", tag("div", parts, class_="grid"), class_="inside"), open=is_open)


def _of_network(story: Story, made: Mapping[str, Drawing | None]) -> Iterator[Html]:
    cost = story.price
    if cost is None:
        yield _figure(
            "The network with its load, and who does what when", None, story.missing.get("network", "not known")
        )
        return
    busiest = cost.busiest_link
    said = f"{size(cost.bytes)} are sent in this round"
    said += f"; the busiest link, {busiest[0]} to {busiest[1]}, carries {size(busiest[2])}." if busiest else "."
    if made["network"] is None:
        yield _figure("The network with its load", None, f"{said} It has too many links to draw.")
    else:
        yield _figure("The network with its load", made["network"], said)
    said = (
        f"The round takes {cost.seconds:.3g} simulated seconds: {cost.compute_seconds:.3g} of computing, "
        f"{cost.group_seconds:.3g} of transfers within groups, {cost.global_seconds:.3g} of others."
    )
    yield _figure("Who does what when", made["timeline"], said)


def _of_run(story: Story) -> dict[str, Drawing | None]:
    """The pictures of one run."""
    found: dict[str, Drawing | None] = dict.fromkeys(("groups", "plan", "network", "timeline"))
    if story.groups is not None and story.labels is not None:
        sums = np.stack([story.labels[list(members)].sum(axis=0) for members in story.groups])
        names = [f"{k} ({len(members)})" for k, members in enumerate(story.groups)]
        found["groups"] = label_bars(sums, names, what="groups", by_evenness=True)
    if story.plan is not None:
        found["plan"] = tree(story.plan)
    if story.price is not None and story.placement is not None and story.plan is not None:
        found["network"] = load(story.placement, story.price.carried)
        order = (leaf.client for leaf in leaves(story.plan))
        found["timeline"] = timeline(story.price.timeline, order, story.price.seconds)
    return found


def _settings(story: Story) -> Html:
    options = story.config.get("options")
    own = options if isinstance(options, dict) else {}
    shared = {key: value for key, value in story.config.items() if key != "options" and value is not None}
    cells = [tag("div", tag("dt", key), tag("dd", str(value))) for key, value in {**own, **shared}.items()]
    versions = story.versions or ["The run is from before versions were written down."]
    told = [tag("li", f"round {e['round']}: {e['kind']}: {e['text']}") for e in story.events[:50]]
    more = f" and {len(story.events) - 50} more" if len(story.events) > 50 else ""
    events = tag("details", tag("summary", f"{len(story.events)} events{more}"), tag("ul", told)) if told else None
    return tag(
        "figure",
        tag("h3", "Settings and versions"),
        tag("dl", cells),
        [tag("p", text, class_="soft") for text in versions],
        events,
        class_="wide",
    )


def _card(title: str, *inside: object) -> Html:
    return tag("section", tag("h2", title), *inside, class_="card")


def _figure(title: str, picture: Drawing | None, said: str, more: Html | None = None) -> Html:
    wide = "wide" if picture is not None and picture.wide else None
    if picture is None:
        return tag("figure", tag("h3", title), _missing(f"Not drawn: {said}"))
    return tag("figure", tag("h3", title), _picture(picture), tag("figcaption", said), more, class_=wide)


def _picture(picture: Drawing) -> Html:
    svg = Html(picture.svg())
    if picture.wide:
        return tag(
            "div", svg, class_="scroll", tabindex="0", role="region", aria_label=f"scrolls: {picture.label}"[:120]
        )
    return tag("div", svg, class_="picture")


def _missing(text: str) -> Html:
    return tag("p", text, class_="missing")


def _swatch(number: int) -> Html:
    dashes = ' stroke-dasharray="5 4"' if number >= SERIES else ""
    line = f'<line x1="0" y1="5" x2="26" y2="5" class="s-series-{number % SERIES}" stroke-width="4"{dashes}/>'
    return Html(f'<svg viewBox="0 0 26 10" width="26" height="10" aria-hidden="true">{line}</svg>')


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
