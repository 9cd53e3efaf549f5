"""What a file says of the table or figure of a paper that it repeats: tables `[paper]`, `[figures]` and `[picture]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

AXES = {
    "rounds": "round",
    "epochs": "epochs",
    "traffic": "traffic_bytes",
    "seconds": "simulated_seconds",
    "cost": "cost",
    "link_cost": "link_cost",
    "size": "size",
}
"""What a curve can be drawn over, and the metric behind it; anything else on the horizontal axis is a swept setting."""


class Paper(BaseModel):
    """Which table or figure this is, and what is known of it: the table `[paper]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str = Field(description="whose paper")
    item: str = Field(description="which table or figure of it")
    kind: Literal["table", "figure"] = Field(description="table or figure")
    shows: str = Field(description="what the paper shows there, in one sentence")
    instead: tuple[str, ...] = Field((), description="what is other here than in the paper")
    notes: tuple[str, ...] = Field((), description="what came out here, and why as far as known")
    cannot: str | None = Field(None, description="why it cannot be repeated here")
    minutes: dict[str, float] = Field(default_factory=dict, description="how long a scale takes on two cores")
    memory: dict[str, float] = Field(default_factory=dict, description="how many MB a scale takes")


class Picture(BaseModel):
    """What is drawn: the table `[picture]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    x: str = Field("rounds", description=f"{', '.join(AXES)}, a swept setting, or run")
    y: str | None = Field(None, description="a metric, or a column of the table; the score unless given")
    panels: str | None = Field(None, description="a swept setting with a panel for each of its values")
    heat: str | None = Field(None, description="a swept setting that goes down where x goes across, as a heat map")
    form: Literal["lines", "bars", "stacks"] = Field(
        "lines", description="lines or bars where x is a swept setting; stacks of every group's labels"
    )
    log: bool = Field(False, description="a logarithmic vertical axis, of lines and bars")
