"""A real browser, which watches for errors on every page that a test opens."""

import os

import pytest
from tools.browser import find


class Opener:
    """Opens pages; `complaints` is what their consoles have said so far."""

    def __init__(self, open_one, complaints):
        self.open_one, self.complaints = open_one, complaints

    def __call__(self, url, **how):
        return self.open_one(url, **how)


@pytest.fixture(scope="session")
def chromium():
    path = find()
    if path is None:
        said = "no browser is here; python -m tools.browser gets one"
        if os.environ.get("CI") == "true":
            pytest.fail(said)
        pytest.skip(said)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """`open_page(url, …)` on a desk or a phone, light or dark; what the console complains of fails the test."""
    contexts, complaints = [], []

    def open_one(url, *, phone=False, dark=False, offline=False):
        size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme="dark" if dark else "light")
        contexts.append(context)
        context.set_offline(offline)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield Opener(open_one, complaints)
    for context in contexts:
        context.close()
    assert complaints == []
