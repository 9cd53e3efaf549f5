"""A day with covey in a terminal of 80 columns, recorded as it looks: `python -m tools.session` writes docs/session.md.

The terminal is tmux's, so that progress bars have come and gone and what remains is what a person sees. A line that is
wider than the terminal would be broken there; such a line ends the recording with a fault.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WIDTH, PATIENCE = 80, 300.0
PROMPT = "$ "
COMMANDS = (
    "covey compare fedavg tornadoes fedgsp --out demo",
    "covey run fedgsp --rounds 12 --name growing --tag first",
    "covey run fedgsp --rounds 12 --lr 0.05 --tag first",
    "covey list --sort accuracy",
    "covey show growing --plot growing.png",
    "covey sweep fedavg --set lr=0.05,0.1,0.2 --set epochs=1,2 --seeds 2 --rounds 5",
    "covey group fleet.csv --method cov --min-size 5 --out groups.csv",
    "covey price star-stars --fleet fleet.csv --groups groups.csv --network tree:4",
    "covey run star-stars --fleet fleet.csv --groups groups.csv --rounds 5",
    "covey export growing --format csv | cut -c 1-76 | head -n 3",
    "covey run fedagv",
)
OPENING = """\
# A session

Recorded by `python -m tools.session` in a terminal of 80 columns, beside [examples/fleet.csv](../examples/fleet.csv).

"""


def tmux(*words: str) -> str:
    done = subprocess.run(["tmux", "-L", "covey-session", *words], capture_output=True, text=True, check=True)
    return done.stdout


def screen() -> list[str]:
    """All lines so far, as they are shown; `-J` joins lines that were broken, which then are too wide."""
    return tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "day").rstrip().split("\n")


def do(command: str) -> None:
    """Type a command and wait until the prompt is back."""
    before = sum(line.startswith(PROMPT.strip()) for line in screen())
    tmux("send-keys", "-t", "day", command, "Enter")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(0.3)
        lines = screen()
        if lines[-1].strip() == PROMPT.strip() and sum(line.startswith(PROMPT.strip()) for line in lines) > before:
            return
    sys.exit(f"{command} took more than {PATIENCE:g} seconds")


def record(folder: Path) -> list[str]:
    """The lines of a terminal in which all commands have been typed."""
    binaries = Path(sys.executable).parent
    shell = f"env PATH={binaries}:$PATH PS1='{PROMPT}' bash --norc --noprofile"
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "day", "-x", str(WIDTH), "-y", "200", "-c", str(folder), shell)
    try:
        time.sleep(1)
        for command in COMMANDS:
            do(command)
        return screen()[:-1]
    finally:
        tmux("kill-server")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=Path("docs/session.md"))
    asked = parser.parse_args()
    if shutil.which("tmux") is None:
        sys.exit("tmux is needed for a terminal")
    with tempfile.TemporaryDirectory(prefix="covey-session-") as folder:
        shutil.copy(Path(__file__).parents[1] / "examples" / "fleet.csv", folder)
        lines = [line.rstrip().replace(folder, "~") for line in record(Path(folder))]
    wide = [line for line in lines if len(line) > WIDTH and not line.startswith(PROMPT)]
    if wide:
        sys.exit("broken lines:\n" + "\n".join(wide))
    asked.to.write_text(OPENING + "```text\n" + "\n".join(lines).strip() + "\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
