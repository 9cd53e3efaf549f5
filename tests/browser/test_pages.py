"""Every page in a real browser: no error on the console, nothing serious for axe, and what it is for works."""

import time
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from tests.ui.serving import made_up, serving

import covey
from covey.store import Store

SMALL: dict[str, Any] = {
    "clients": 6,
    "samples": 20,
    "rounds": 3,
    "mode": "one-by-one",
    "network": "tree:2",
    "edges": 2,
}
PATHS = [
    "/",
    "/run/fedgsp-digits-1",
    "/compare?run=fedgsp-digits-1&run=fedavg-digits-1",
    "/groups",
    "/plan",
    "/new",
    "/nowhere",
]
BAD = "<img src=x onerror=alert(1)>"
CSV = f"client,{BAD},b\n{BAD},1,9\ny,9,1\nz,5,5\nw,2,8\nv,8,2\nu,4,6\n"


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    found = tmp_path_factory.mktemp("store") / "runs"
    covey.run("fedgsp", out=found, beta=2, **SMALL)
    names = made_up(found, 3)
    with Store(found) as store:
        store.add_event(names[0], 0, "tag", BAD)
    return found


@pytest.fixture(scope="module")
def served(out):
    with serving(out) as found:
        yield found


def until(page, expression, argument=None, seconds=30):
    """Wait for JavaScript to be true; Playwright's own way of waiting is more than the page's policy allows."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


def settled(page):
    """Until nothing is being waited for."""
    until(page, "!document.body.innerText.includes('Making fleets') && !document.querySelector('.busy')")
    return page


def serious(page):
    found = Axe().run(page).response["violations"]
    return [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_a_page_loads_and_axe_finds_nothing_serious(open_page, served, path, dark):
    page = settled(open_page(served.url + path, dark=dark, phone=dark))
    if path == "/nowhere":
        open_page.complaints.clear()  # the browser itself notes the 404
    if path in ("/groups", "/plan"):
        page.wait_for_selector("#figures li, #price li")
    assert page.locator("h1").count() == 1
    assert serious(page) == []
    assert page.locator("img").count() == 0
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")  # nothing sticks out on a phone


def test_runs_are_filtered_and_compared(open_page, served):
    page = open_page(f"{served.url}/")
    page.wait_for_timeout(700)  # the first news
    page.fill("#search", "fedavg")
    until(page, "document.querySelectorAll('#runs tr').length === 3")
    assert page.inner_text("#count") == "3 of 4 runs"
    page.fill("#search", "")
    page.select_option("#algorithm", "fedgsp")
    until(page, "document.querySelectorAll('#runs tr').length === 1")
    page.check("input[value=fedgsp-digits-1]")
    page.select_option("#algorithm", "all")
    until(page, "document.querySelectorAll('#runs tr').length === 4")
    page.check("input[value=fedavg-digits-1]")
    page.click("text=Compare 2 chosen")
    page.wait_for_url("**/compare?run=*")
    settled(page)
    shown = ".curves [data-axis=round]:visible svg"
    assert page.locator(shown).count() == 3
    page.check("#over-traffic_bytes")
    assert page.locator(shown).count() == 0
    assert page.locator(".curves [data-axis=traffic_bytes]:visible svg").count() == 3
    assert page.locator("text=The plan of a round").count() >= 1


def test_a_run_is_started_and_its_progress_moves(open_page, tmp_path):
    with serving(tmp_path / "runs") as served:
        page = open_page(f"{served.url}/new")
        page.fill("#clients", "4")
        page.fill("#rounds", "5000")
        page.fill("#more-settings", "mode=one-by-one\nsamples=20")
        page.click("button[type=submit]")
        page.wait_for_url("**/run/fedavg-digits-1")
        moves = "document.getElementById('progress').value > {}"
        until(page, moves.format(0))
        until(page, moves.format(page.evaluate("document.getElementById('progress').value")))
        page.click("text=Stop")
        until(page, "document.getElementById('status').textContent === 'interrupted'")
        assert page.is_visible("text=Go on")
        page.context.close()  # before the server is gone


def test_what_cannot_be_started_is_said(open_page, served):
    page = open_page(f"{served.url}/new")
    page.fill("#algorithm", "./mine.py:Mine")
    page.click("button[type=submit]")
    until(page, "document.getElementById('said').textContent.includes('algorithm is')")
    open_page.complaints.clear()  # the browser itself notes the 400


def test_the_playground_regroups_at_once(open_page, served, tmp_path):
    page = open_page(f"{served.url}/groups")
    first = page.inner_text("#figures li >> nth=0")
    page.fill("#min-size", "12")
    until(page, "old => document.querySelector('#figures li').innerText !== old", first)
    assert page.locator("#cost table").count() == 1
    (tmp_path / "fleet.csv").write_text(CSV)
    page.fill("#min-size", "2")
    page.set_input_files("#csv", tmp_path / "fleet.csv")
    until(page, "document.getElementById('members').textContent.includes('onerror')")
    assert page.locator("img").count() == 0  # the name is a name
    page.click("text=Built-in fleet instead")
    until(page, "!document.getElementById('members').textContent.includes('onerror')")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("a,b\n1,2\n", "no column 'client'"), ("client,a\nx,-3\n", "line 2"), ("x" * 4_100_000, "at most 4 MB")],
)
def test_a_bad_upload_gets_a_message(open_page, served, tmp_path, text, sentence):
    (tmp_path / "bad.csv").write_text(text)
    page = open_page(f"{served.url}/groups")
    page.set_input_files("#csv", tmp_path / "bad.csv")
    until(page, "told => document.getElementById('said').textContent.includes(told)", sentence)
    open_page.complaints.clear()  # the browser itself notes the 400


def test_a_plan_is_composed(open_page, served):
    page = open_page(f"{served.url}/plan")
    page.click("text=heads in a mesh")
    until(page, "document.getElementById('sketch').textContent === 'Mesh(Star(Train))'")
    page.select_option("#editor select >> nth=0", "ring")
    until(page, "document.getElementById('sketch').textContent === 'Ring(Star(Train))'")
    before = page.inner_text("#price")
    page.fill("#link", "1MB/s,1ms")
    until(page, "old => document.getElementById('price').innerText !== old", before)


def test_the_keyboard_is_enough(open_page, served):
    page = open_page(f"{served.url}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_light_turns_dark_and_stays_so(open_page, served):
    page = open_page(f"{served.url}/")
    paper = "getComputedStyle(document.querySelector('header.bar')).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    assert page.evaluate(paper) != light
    page.reload()
    assert page.inner_text("#theme") == "Light"


def test_a_report_opens_offline(open_page, out, tmp_path):
    from covey.cli.report import write_report
    from covey.report.story import entries
    from covey.retrace import retrace

    with Store(out, read_only=True) as store:
        (path,) = write_report(entries([retrace(store, "fedgsp-digits-1")]), "A run", tmp_path / "report.html")
    for phone in (False, True):
        page = open_page(path.as_uri(), offline=True, phone=phone, dark=phone)
        page.check("#over-simulated_seconds")
        assert page.locator(".curves [data-axis=simulated_seconds]:visible svg").count() == 3
        assert serious(page) == []
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
