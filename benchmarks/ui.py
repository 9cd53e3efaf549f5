"""How long a person waits for `covey ui` with 1,000 runs: from the command to the first paint, in a real browser.

    python -m benchmarks.ui

The store holds runs of 20 rounds that nobody ran. Times are medians of several starts: from starting the process to its
first paint, of which the page itself takes the part from navigation to first paint; then typing into the search until
the table shows what was asked for.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from tools.browser import get

from covey.store import Store

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    path = get()
    if path is None:
        sys.exit("no browser can be had")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        fill(Path(folder), asked.runs)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        browser.new_page().close()
        times = [measure(Path(folder), browser) for _ in range(asked.repeats)]
        browser.close()
    for name, values in zip(
        ("command to first paint", "navigation to first paint", "search to rows"), zip(*times, strict=True), strict=True
    ):
        print(f"{name:28} {statistics.median(values):7.3f} s  ({min(values):.3f} to {max(values):.3f})")


def fill(folder: Path, count: int) -> None:
    """So many runs of 20 rounds."""
    with Store(folder) as store:
        for number in range(count):
            algorithm = ("fedavg", "fedgsp", "group-fel")[number % 3]
            config = {"algorithm": algorithm, "data": "digits", "rounds": 20, "seed": number, "options": {}}
            run = store.create(f"{algorithm}-digits", config)
            rows = [
                (
                    "INSERT INTO rounds VALUES (?, ?, ?)",
                    run,
                    r,
                    f'{{"round": {r}, "accuracy": {r / 25}, "traffic_bytes": {r}}}',
                )
                for r in range(1, 21)
            ]
            store.database.write(*rows, ("UPDATE runs SET status = 'finished' WHERE run = ?", run))


def measure(folder: Path, browser: Browser) -> tuple[float, float, float]:
    """Seconds from the command to the first paint, from navigation to it, and from a key to the rows."""
    page = browser.new_page()
    began = time.time()
    command = [sys.executable, "-m", "covey", "ui", "--port", "0", "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        page.goto(process.stdout.readline().strip())
        while (paint := page.evaluate(PAINT)) is None:
            page.wait_for_timeout(5)
        origin = page.evaluate("performance.timeOrigin")
        page.wait_for_timeout(1500)  # the rest of the rows has come
        asked = time.perf_counter()
        page.fill("#search", "group-fel-digits-33")
        while page.evaluate("document.querySelectorAll('#runs tr').length") > 20:
            page.wait_for_timeout(5)
        found = time.perf_counter() - asked
        return (origin + paint) / 1000 - began, paint / 1000, found
    finally:
        page.close()
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
