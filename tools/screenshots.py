"""Ten pictures of report and page for the documentation: `python -m tools.screenshots` writes them to docs/pictures."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tools.browser import get

DESK, PHONE = (1280, 860), (390, 844)
COMPARE = "/compare?run=fedavg-digits-1&run=tornadoes-digits-1&run=fedgsp-digits-1"
SHOTS = {
    "report-desk-light": ("report", DESK, "light"),
    "report-phone-dark": ("report", PHONE, "dark"),
    "runs-desk-light": ("/", DESK, "light"),
    "runs-phone-dark": ("/", PHONE, "dark"),
    "compare-desk-dark": (COMPARE, DESK, "dark"),
    "run-phone-light": ("/run/ihc-fl-digits-1", PHONE, "light"),
    "groups-desk-dark": ("/groups", DESK, "dark"),
    "groups-phone-light": ("/groups", PHONE, "light"),
    "plan-desk-light": ("/plan", DESK, "light"),
    "plan-phone-dark": ("/plan", PHONE, "dark"),
}
"""What each picture shows: a page, a size, light or dark."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--store", type=Path, help="a store that covey compare made; made anew unless given")
    asked = parser.parse_args()
    path = get()
    if path is None:
        sys.exit("no browser can be had")
    asked.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = asked.store or Path(folder) / "demo"
        if asked.store is None:
            subprocess.run([sys.executable, "-m", "covey", "compare", "--out", str(store)], check=True)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        command = [sys.executable, "-m", "covey", "ui", "--port", "0", "--out", str(store)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            base = server.stdout.readline().strip().rstrip("/")
            for name, (where, size, scheme) in SHOTS.items():
                url = (store / "report.html").absolute().as_uri() if where == "report" else base + where
                shoot(browser, url, size, scheme, asked.to / f"{name}.png")
                print(asked.to / f"{name}.png")
        finally:
            server.terminate()
            server.wait()
        browser.close()


def shoot(browser: Browser, url: str, size: tuple[int, int], scheme: str, path: Path) -> None:
    """One picture, after everything that the page waits for has come."""
    dark = "dark" if scheme == "dark" else "light"
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=dark)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url)
    if url.endswith("/plan"):
        page.click("text=heads in a mesh")
    _settle(page)
    height = min(page.evaluate("document.scrollingElement.scrollHeight"), 2 * size[1])
    page.set_viewport_size({"width": size[0], "height": int(height)})
    page.screenshot(path=path)
    context.close()


def _settle(page: Page) -> None:
    waiting = "document.body.innerText.includes('Making fleets') || document.querySelector('.busy') !== null"
    page.wait_for_timeout(800)
    while page.evaluate(waiting):
        page.wait_for_timeout(100)
    page.wait_for_timeout(700)


if __name__ == "__main__":
    main()
