"""The app: pages, their data as JSON, and live progress as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey.errors import BadValue, CoveyError, first_fault
from covey.store import Store
from covey.store.names import is_name
from covey.ui import pages
from covey.ui.guard import Guard
from covey.ui.jobs import Jobs
from covey.ui.runs import run_rows, stamp

ASSETS = Path(__file__).parent / "assets"
STATIC = {
    "ui.js": (ASSETS / "ui.js", "text/javascript"),
    "theme.js": (ASSETS.parents[1] / "report" / "assets" / "theme.js", "text/javascript"),
}
TICK = 0.5  # seconds between looks at the store
MOST_COMPARED = 30
Asked = TypeVar("Asked", bound=BaseModel)
Names = Annotated[list[str], Query(max_length=MOST_COMPARED)]


class Start(BaseModel):
    """A run to begin."""

    model_config = ConfigDict(extra="forbid")

    algorithm: str = Field(max_length=60)
    name: str | None = Field(None, max_length=200)
    settings: dict[str, str | int | float | bool] = Field(default_factory=dict, max_length=60)


class Named(BaseModel):
    """A run by its name."""

    model_config = ConfigDict(extra="forbid")

    run: str = Field(max_length=300)


def make_app(out: Path, *, token: str | None = None) -> Guard:
    """The app on the store in that folder, behind its guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    jobs = Jobs(out)

    @app.exception_handler(CoveyError)
    async def complain(request: Request, error: CoveyError) -> Response:
        status = 404 if str(error).startswith("run is ") else 400
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": str(error)}, status)
        return HTMLResponse(pages.trouble(str(error)), status)

    @app.exception_handler(RequestValidationError)
    async def refuse(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return JSONResponse({"error": f"{field}: {first['msg']}"}, 422)

    @app.exception_handler(404)
    async def nowhere(request: Request, error: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": "there is nothing of that name"}, 404)
        return HTMLResponse(pages.trouble("There is no page of that name."), 404)

    @app.get("/", response_class=HTMLResponse)
    def index() -> str:
        return pages.runs(run_rows(out), out)

    @app.get("/run/{run}", response_class=HTMLResponse)
    def one(run: str) -> str:
        return pages.one(_story(out, run))

    @app.get("/compare", response_class=HTMLResponse)
    def compare(run: Names = []) -> str:  # noqa: B006, FastAPI copies it
        return pages.compare([_story(out, name) for name in dict.fromkeys(run)])

    @app.get("/groups", response_class=HTMLResponse)
    def groups() -> str:
        from covey.ui.playground import methods

        return pages.groups(methods())

    @app.get("/plan", response_class=HTMLResponse)
    def plan() -> str:
        return pages.plan()

    @app.get("/new", response_class=HTMLResponse)
    def new() -> str:
        return pages.new()

    @app.get("/static/ui.css")
    def style() -> Response:
        from covey.report.look import css

        return Response(css() + (ASSETS / "ui.css").read_text(encoding="utf-8"), media_type="text/css")

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in STATIC:
            return JSONResponse({"error": "there is nothing of that name"}, 404)
        path, kind = STATIC[name]
        return FileResponse(path, media_type=kind)

    @app.get("/favicon.ico")
    def icon() -> Response:
        return Response(status_code=204)

    @app.get("/api/runs")
    def runs() -> list[dict[str, Any]]:
        return run_rows(out)

    @app.get("/api/curves")
    def curves(run: Names) -> dict[str, str]:
        return {"html": pages.curves([_story(out, name) for name in dict.fromkeys(run)])}

    @app.get("/api/details")
    def details(run: Names) -> dict[str, str]:
        """What has to be made again first: fleet, groups, plan, accuracies. Settings that name code are refused."""
        from covey.compare.fleets import Fleets
        from covey.retrace import retrace

        fleets = Fleets()
        with Store(out, read_only=True) as store:
            return {"html": pages.details([retrace(store, _name(name), fleets) for name in dict.fromkeys(run)])}

    @app.get("/api/live")
    async def live() -> Response:
        news = _news(out, jobs, lambda: guard.closing)
        return StreamingResponse(news, media_type="text/event-stream", headers={"cache-control": "no-store"})

    @app.post("/api/group")
    def group(asked: dict[str, Any]) -> dict[str, Any]:
        from covey.ui import playground  # numpy and networkx take a while, and the first page needs neither

        return playground.regroup(_read(playground.Asked, asked))

    @app.post("/api/plan")
    def price(asked: dict[str, Any]) -> dict[str, Any]:
        from covey.ui import plans

        return plans.priced(_read(plans.Asked, asked))

    @app.post("/api/start")
    def start(asked: Start) -> dict[str, str]:
        taken = {row["name"] for row in run_rows(out)}
        return {"run": jobs.start(asked.algorithm, dict(asked.settings), asked.name or None, taken)}

    @app.post("/api/stop")
    def stop(asked: Named) -> dict[str, str]:
        jobs.stop(_name(asked.run))
        return {"run": asked.run}

    @app.post("/api/resume")
    def resume(asked: Named) -> dict[str, str]:
        with Store(out, read_only=True) as store:
            run = store.get(_name(asked.run)).run
        jobs.resume(run)
        return {"run": run}

    guard = Guard(app, token)
    return guard


def _read(kind: type[Asked], found: dict[str, Any]) -> Asked:
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise first_fault(error, "request") from None


def _name(run: str) -> str:
    """The name of a run, which is never a path."""
    if not is_name(run):
        raise BadValue("run", run, "the name of a run")
    return run


def _story(out: Path, run: str) -> Any:
    from covey.report.story import plain_story

    with Store(out, read_only=True) as store:
        return plain_story(store, store.get(_name(run)))


async def _news(out: Path, jobs: Jobs, closing: Callable[[], bool]) -> AsyncIterator[str]:
    """Rows that have changed, and how the page's own processes stand, whenever there is something new."""
    seen: dict[str, str] = {}
    last: tuple[Any, ...] | None = None
    told = ""
    beat = 0
    while not closing():
        now = stamp(out)
        busy = any('"running"' in text for text in seen.values())
        if now != last or (busy and beat % 4 == 0):  # a killed process changes nothing in the store
            last = now
            try:
                rows = await asyncio.to_thread(run_rows, out)
            except CoveyError as error:
                yield _event("trouble", {"error": str(error)})
                rows = []
            texts = {row["name"]: json.dumps(row) for row in rows}
            changed = [text for name, text in texts.items() if seen.get(name) != text]
            gone = [name for name in seen if name not in texts]
            if changed or gone:
                seen = texts
                yield f"event: runs\ndata: [{','.join(changed)}]\n\n"
                if gone:
                    yield _event("gone", gone)
        standing = json.dumps(jobs.standing())
        if standing != told:
            told = standing
            yield f"event: jobs\ndata: {standing}\n\n"
        beat += 1
        if beat % 30 == 0:
            yield ": still here\n\n"
        await asyncio.sleep(TICK)


def _event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
