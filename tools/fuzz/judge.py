"""What is a fault, whatever the input was."""

from __future__ import annotations

import csv
import json
import re
import signal
import sqlite3
import unicodedata
from pathlib import Path
from typing import Any

from tools.call import Ended
from tools.fuzz.case import Case

FRAME = re.compile(r'File "[^"]*?((?:covey|tools)/[^"]*)", line (\d+), in (\S+)')


def faults(case: Case, ended: Ended, folder: Path) -> list[str]:
    """What is wrong with how this ended, in words that are the same for the same cause; nothing where all is well."""
    if ended.code in (-signal.SIGALRM, -signal.SIGXCPU):
        return [f"hangs: {' '.join(case.words[:1])}"]
    if ended.code < 0:
        return [f"ended by {signal.Signals(-ended.code).name}"]
    if "Traceback (most recent call last)" in ended.err:
        return [f"traceback: {_cause(ended.err)}"]
    found = []
    if ended.code not in (0, 1, 2):
        found.append(f"exit code {ended.code}")
    if "Warning:" in ended.err:
        found.append(f"warning: {_without_numbers(_line_with('Warning:', ended.err))}")
    if control := sorted({hex(ord(c)) for c in ended.out + ended.err if unicodedata.category(c) == "Cc" and c != "\n"}):
        found.append(f"control characters {', '.join(control)} reach the terminal")
    if ended.code == 2 and not found:
        found += _refusal(ended, told=case.words[0] == "compare")
    if ended.code == 0 and not found:
        found += _acceptance(case, ended, folder)
    return found


def _refusal(ended: Ended, *, told: bool) -> list[str]:
    """`told`: which runs have failed was told before, as they did."""
    lines = ended.err.splitlines()[-1:] if told else ended.err.splitlines()
    if len(lines) != 1 or not lines[0].startswith("covey: ") or not lines[0].removeprefix("covey: ").strip():
        return [f"a refusal that is not one sentence: {_without_numbers(ended.err[:80])!r}"]
    return []


def _acceptance(case: Case, ended: Ended, folder: Path) -> list[str]:
    found = []
    answer: Any = None
    if "--json" in case.words and "--help" not in case.words:
        try:
            answer = json.loads(ended.out.splitlines()[-1], parse_constant=_no_constant)
        except (ValueError, IndexError) as error:
            return [f"--json prints no JSON: {_without_numbers(str(error))}"]
    if case.given and case.words[0] == "run":
        stored = _stored_settings(folder)
        found += [f"setting {name} is accepted and not kept" for name in case.given if not _kept(name, case, stored)]
    if case.model is not None and isinstance(answer, dict) and answer.get("model_sha256") != case.model:
        found.append("goes on to another model")
    if "groups.csv" in case.words:
        found += _grouped(case, folder)
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _stored_settings(folder: Path) -> dict[str, Any]:
    """The settings of the newest run, read from beside covey."""
    with sqlite3.connect(f"file:{folder / 'runs' / 'covey.db'}?mode=ro", uri=True) as db:
        ((text,),) = db.execute("SELECT config FROM runs ORDER BY rowid DESC LIMIT 1").fetchall()
    db.close()
    settings = dict(json.loads(text))
    return {**settings, **settings.pop("options", {})}


def _kept(name: str, case: Case, stored: dict[str, Any]) -> bool:
    given = case.given[name]
    if name == "options":
        return isinstance(given, dict)
    return name in stored and _same(given, stored[name])


def _same(given: Any, stored: Any) -> bool:
    """Whether a setting is kept as it was given, whatever kind of number or text it was written as."""
    if isinstance(given, list | tuple) and isinstance(stored, list | tuple):
        return len(given) == len(stored) and all(map(_same, given, stored))
    if isinstance(given, dict) and isinstance(stored, dict):
        return given.keys() == stored.keys() and all(_same(given[key], stored[key]) for key in given)
    if given == stored or str(given) == str(stored):
        return True
    if isinstance(stored, bool):
        return str(given).lower() in (("true", "1", "1.0") if stored else ("false", "0", "0.0"))
    try:
        return float(given) == float(stored)
    except (TypeError, ValueError, OverflowError):
        return False


def _grouped(case: Case, folder: Path) -> list[str]:
    """Every client of the file has its line in what was written."""
    clients, written = (_column(folder / name, "client") for name in (case.words[1], "groups.csv"))
    return [] if sorted(clients) == sorted(written) else ["the groups are not those of the clients in the file"]


def _column(path: Path, name: str) -> list[str]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(row)]
    return [row[rows[0].index(name)] for row in rows[1:]]


def _cause(err: str) -> str:
    """The kind of exception and the last line of covey that it went through."""
    frames = FRAME.findall(err)
    after = err[err.rfind('  File "') :].splitlines()[1:]
    last = next((line for line in after if line and not line.startswith(" ")), "?")
    place = "{} in {}".format(*frames[-1][::2]) if frames else "?"
    return f"{last.partition(':')[0].rpartition('.')[2]} at {place}"


def _line_with(text: str, lines: str) -> str:
    return next(line for line in lines.splitlines() if text in line)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "0", re.sub(r"\S*/", "", text))[:100]
