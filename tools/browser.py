"""A browser for the tests: one that is installed, else Debian's package where that may be, else Playwright's own.

`python -m tools.browser` gets one if it can and prints where it is; exit code 1 says that none can be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
PATIENCE = 900  # seconds for a download


def find() -> Path | None:
    """A browser that is here: the one COVEY_BROWSER names, an installed one, or one that Playwright fetched before."""
    named = os.environ.get("COVEY_BROWSER")
    if named:
        return Path(named) if Path(named).is_file() else None
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    return _fetched()


def get() -> Path | None:
    """As `find`; where there is none, one is installed or fetched."""
    if (found := find()) or os.environ.get("COVEY_BROWSER"):
        return found
    for command in (*_packages(), [sys.executable, "-m", "playwright", "install", "chromium"]):
        print("browser:", *command, file=sys.stderr)
        try:
            done = subprocess.run(command, stdout=sys.stderr, stdin=subprocess.DEVNULL, timeout=PATIENCE)
        except (OSError, subprocess.TimeoutExpired) as error:
            print("browser:", error, file=sys.stderr)
            continue
        if done.returncode == 0 and (found := find()):
            return found
    return None


def _packages() -> list[list[str]]:
    """The command that installs Debian's package, where that is allowed."""
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]
    if shutil.which("apt-get") is None:
        return []
    if os.geteuid() == 0:
        return [install]
    may = (
        shutil.which("sudo") is not None and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0
    )
    return [["sudo", "-n", *install]] if may else []


def _fetched() -> Path | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.is_file() else None


if __name__ == "__main__":
    browser = get()
    print(browser or "no browser can be had; the tests that need one are skipped")
    sys.exit(0 if browser else 1)
