"""Who may ask, from where, and how much they may send."""

import pytest
from tests.ui.serving import made_up, serving

TOKEN = "0123456789abcdef0123"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    made_up(out, 1)
    with serving(out) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("runs"), token=TOKEN) as found:
        yield found


def test_a_page_says_what_a_browser_may_load(served):
    status, headers, _ = served.ask("/")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy  # nothing inline
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8421", "127.0.0.1.evil.example", "", "[::2]:80"])
def test_another_host_is_refused(served, host):
    status, _, text = served.ask("/api/runs", headers={"Host": host})
    assert status in (400, 403)  # uvicorn itself refuses some
    assert "fedavg" not in text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8421"])
def test_names_of_this_machine_are_taken(served, host):
    assert served.ask("/api/runs", headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize(("path", "body"), [("/api/runs", None), ("/api/start", {"algorithm": "fedavg"})])
def test_another_site_is_refused(served, headers, path, body):
    status, _, text = served.ask(path, body, headers=headers)
    assert status == 403
    assert "another site" in text


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_form_of_another_site_cannot_start_a_run(served, kind):
    status, _, text = served.ask("/api/start", {"algorithm": "fedavg"}, headers={"Content-Type": kind})
    assert status == 415
    assert "application/json" in text


def test_its_own_origin_is_taken(served):
    status, _, _ = served.ask("/api/plan", {}, headers={"Origin": served.url, "Sec-Fetch-Site": "same-origin"})
    assert status == 400  # of what it asks, not of who asks


def test_too_much_is_refused_before_it_is_read(served):
    status, _, text = served.ask("/api/group", raw=b"x", headers={"Content-Length": "5000001"})
    assert (status, "at most 5,000,000 bytes" in text) == (413, True)


def test_too_much_in_pieces_is_refused(served):
    pieces = (b"x" * 100_000 for _ in range(60))
    status, _, text = served.ask("/api/group", raw=pieces, headers={"Transfer-Encoding": "chunked"})
    assert (status, "at most 5,000,000 bytes" in text) == (413, True)


@pytest.mark.parametrize("path", ["/", "/api/runs", "/static/ui.js", "/?token=wrong", "/api/runs?token="])
def test_without_the_token_nothing_is_told(guarded, path):
    status, _, text = guarded.ask(path)
    assert status == 401
    assert "token" in text


def test_the_token_becomes_a_cookie_and_leaves_the_address(guarded):
    status, headers, _ = guarded.ask(f"/groups?token={TOKEN}&x=1")
    assert (status, headers["location"]) == (303, "/groups?x=1")
    cookie = headers["set-cookie"]
    assert "HttpOnly; SameSite=Strict" in cookie
    assert guarded.ask("/api/runs", headers={"Cookie": cookie.partition(";")[0]})[0] == 200
    assert guarded.ask("/api/runs", headers={"Cookie": "covey_token=other"})[0] == 401


def test_the_token_leads_nowhere_else(guarded):
    _, headers, _ = guarded.ask(f"//evil.example/?token={TOKEN}")
    assert headers["location"] == "/evil.example/"


def test_a_program_brings_the_token_as_a_header(guarded):
    assert guarded.ask("/api/runs", headers={"Authorization": f"Bearer {TOKEN}", "Host": "lab.example"})[0] == 200
    assert guarded.ask("/api/runs", headers={"Authorization": "Bearer no"})[0] == 401
