import re

import numpy as np
import pytest
from tests.report.made import entry, rounds, story

from covey.report.lines import AXES, SCORES, Line, lines
from covey.report.look import css
from covey.report.page import pictures, report
from covey.report.story import Story, entries

ACCURACY, LOSS, OWN = SCORES
ROUND = AXES[0]


def pictures_of(page):
    return re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)


def test_a_report_has_every_section_and_loads_nothing():
    page = report([entry(), entry("star", [rounds(0.4), rounds(0.6)])], "Two runs")
    for text in ("Results", "How they learned", "Is every client served?", "Who holds what", "The plan of a round"):
        assert text in page
    assert "2 groups of 2 to 2 clients" in page
    assert not re.search(r"""(?:src|href)=|@import|url\(|https?://(?!www\.w3\.org/2000/svg)""", page)


def test_the_table_has_means_and_the_best_is_bold():
    page = report([entry(), entry("star", [rounds(0.4), rounds(0.6)])], "Two runs")
    assert "<strong>0.800</strong>" in page
    assert "0.500 ± 0.141" in page  # of 0.4 and 0.6: the mean 0.5, the deviation 0.2 / sqrt(2)


def test_global_and_own_accuracy_are_never_in_one_picture():
    page = report([entry()], "One run")
    for picture in pictures_of(page):
        label = re.search(r'aria-label="([^"]*)"', picture)
        if label and "over global rounds" in label[1]:
            assert ("global model" in label[1]) != ("own data" in label[1])
    assert page.count("Accuracy of the global model over global rounds") == 1
    assert page.count("Clients&#x27; accuracy on their own data over global rounds") == 1


def test_what_a_run_did_not_write_down_is_said_and_not_drawn():
    page = report([entry(own=None, missing={"own": "nobody was tested", "network": "there was none"})], "One run")
    assert "nobody was tested" in page
    assert "Not drawn: there was none" in page
    assert "cost (a run has it where prices is set)" in page
    assert 'id="over-cost" disabled' in page
    assert 'id="over-traffic_bytes"' in page
    assert 'id="over-traffic_bytes" disabled' not in page
    assert "from before versions were written down" in page


def test_a_run_that_lacks_an_axis_is_named_beside_the_others():
    timed = rounds(simulated_seconds=1.0)
    page = report([entry("timed", [timed]), entry("untimed")], "Two runs")
    assert "Not drawn, because not written down: untimed." in page


def test_a_run_without_any_round():
    page = report(
        [entry(seeds=[[]], plan=None, groups=None, own=None, labels=None, missing={"plan": "it failed"})], "None"
    )
    assert "No round of these runs has been evaluated yet" in page
    assert "Not drawn: it failed" in page


def test_names_are_text_wherever_they_stand():
    bad = '"><script>alert(1)</script>'
    told = story(run="r", groups=None, missing={"groups": bad, "network": bad}, versions=[bad],
                 events=[{"round": 1, "kind": bad, "text": bad, "time": 0.0}])  # fmt: skip
    told.config["data"] = bad
    page = report([entry(bad), *entries([told])], bad)
    assert page.count("<script>") == 1  # the page's own
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.metric)
def test_a_button_shows_its_pictures(axis):
    assert f".curves:has(#over-{axis.metric}:checked) [data-axis={axis.metric}]{{display:block}}" in css()


def test_seeds_are_one_entry_and_names_tell_runs_apart():
    def made(run, **config):
        return Story(run, "finished", {"algorithm": "fedavg", "seed": 0, "lr": 0.1, **config}, rounds())

    found = entries([made("a-1"), made("a-2", seed=1), made("a-3", lr=0.2), made("b-1", algorithm="ring")])
    assert [(e.name, len(e.seeds)) for e in found] == [("fedavg, lr=0.1", 2), ("fedavg, lr=0.2", 1), ("ring", 1)]


def test_the_mean_and_band_of_seeds():
    drawn = lines([Line("a", [rounds(0.4), rounds(0.8)])], ROUND, ACCURACY)
    assert drawn is not None
    (band,) = [shape for shape in drawn.shapes if shape.kind == "area"]
    (line,) = [shape for shape in drawn.shapes if shape.kind == "line" and shape.colour == "series-0"]
    top, bottom = 14.0, 330.0 - 50.0  # where 1 and 0 are drawn
    assert line.points[-1][1] == pytest.approx(bottom - (bottom - top) * (0.4 + 0.8) / 2)
    last = [y for x, y in band.points if x == line.points[-1][0]]
    assert last == pytest.approx([bottom - (bottom - top) * 0.8, bottom - (bottom - top) * 0.4])


def test_lines_that_coincide_are_both_seen():
    drawn = lines([Line("a", [rounds()]), Line("b", [rounds()])], ROUND, LOSS)
    assert drawn is not None
    below, above = (s for s in drawn.shapes if s.kind == "line" and s.colour.startswith("series"))
    assert (below.look["dashed"], above.look["dashed"]) == (False, True)


def test_a_score_that_is_no_number_is_not_drawn():
    assert lines([Line("a", [[{"round": 1, "own_accuracy": float("nan")}]])], ROUND, OWN) is None


@pytest.mark.parametrize(("format", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_every_picture_is_a_file(tmp_path, format, magic):
    made = pictures([entry()])
    assert {"accuracy-over-rounds", "loss-over-bytes", "fairness", "clients", "rings-1-groups", "rings-1-plan"} <= set(
        made
    )
    made["rings-1-plan"].save(tmp_path / f"plan.{format}")
    assert (tmp_path / f"plan.{format}").read_bytes().startswith(magic)


def test_a_large_fleet_shows_a_part():
    labels = np.random.default_rng(0).integers(0, 9, (500, 3))
    bars = pictures([entry(labels=labels, groups=None)])["clients"]
    assert len([s for s in bars.shapes if s.colour == "idle"]) == 60
    assert "500 clients" in bars.label
