import numpy as np

from covey.fleet import Fleet
from covey.network.price import price
from covey.network.site import make_site
from covey.plan import Star, Train
from covey.report.wires import load, timeline

FLEET = Fleet(np.array([[10], [20]]))
SITE = make_site(FLEET, network="star", link="1MB/s,0s", device="1GFLOPS", flops=1e8, model_bytes=1e6)
COST = price(Star([Train(0), Train(1)]), SITE, timeline=True)


def test_busy_links_are_dark_and_every_place_is_marked():
    drawn = load(SITE.placement, COST.carried)
    assert drawn is not None
    lines = [shape for shape in drawn.shapes if shape.kind == "line"]
    assert len(lines) == 2  # the cloud and its two hosts
    assert lines[-1].colour == "load-3"
    titles = {shape.look.get("title") for shape in drawn.shapes}
    assert {"client 0", "client 1", "cloud"} <= titles
    assert "busiest link carries 1 MB" in drawn.label  # one model of 1 MB each way


def test_a_timeline_says_who_does_what_when():
    drawn = timeline(COST.timeline, [0, 1], COST.seconds)
    titles = {shape.look.get("title") for shape in drawn.shapes}
    assert "client 0 trains from 2 to 3 s" in titles or "client 0 trains from 1 to 2 s" in titles
    assert {"cloud", "client 0", "client 1"} <= {s.look["text"] for s in drawn.shapes if s.kind == "text"}


def test_a_network_that_is_too_large_is_not_drawn():
    fleet = Fleet(np.ones((3100, 1), dtype=int))
    site = make_site(fleet, network="star", flops=1e8, model_bytes=1e6)
    assert load(site.placement, np.zeros(len(site.placement.network.arcs))) is None
