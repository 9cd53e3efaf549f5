"""A picture as a list of shapes, drawn once and shown twice: in a page, and as a PNG, SVG or PDF file.

In a page it is SVG whose colours follow light and dark. Colours are names: those of `PALETTE`, `series-0` to
`series-9` for runs, `label-3/10` for the label 3 of 10.
"""

from __future__ import annotations

import colorsys
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covey.report.picture import drawing

Point = tuple[float, float]

PALETTE = {
    "ink": ("#1b1f24", "#e8eaed"),
    "soft": ("#57606a", "#a8b0ba"),
    "grid": ("#dfe3e8", "#3a4048"),
    "paper": ("#ffffff", "#1c2026"),
    "train": ("#2b6cb0", "#5aa2e6"),
    "meet": ("#6b46c1", "#a78bfa"),
    "send": ("#c05621", "#f0883e"),
    "receive": ("#f6ad55", "#8a5a2b"),
    "client": ("#2b6cb0", "#5aa2e6"),
    "edge": ("#6b46c1", "#a78bfa"),
    "cloud": ("#1b1f24", "#e8eaed"),
    "idle": ("#b6bec8", "#565e68"),
    "panel-0": ("#f2f4f7", "#23282f"),
    "panel-1": ("#e6eaef", "#2e343c"),
    "panel-2": ("#d9dfe6", "#3a424c"),
    "load-0": ("#f6c28b", "#5c4327"),
    "load-1": ("#f2994a", "#8f5a24"),
    "load-2": ("#dd6b20", "#cf7a2c"),
    "load-3": ("#b83280", "#f472b6"),
    "series-0": ("#1f6fb5", "#5aa9e6"),
    "series-1": ("#c75b12", "#f2a154"),
    "series-2": ("#2f8f4e", "#63c787"),
    "series-3": ("#c0392b", "#f28b82"),
    "series-4": ("#7a4fbf", "#b79cf0"),
    "series-5": ("#8c564b", "#c9988c"),
    "series-6": ("#c2499d", "#f19ad3"),
    "series-7": ("#5f6670", "#aab2bd"),
    "series-8": ("#8a8a00", "#d3d34f"),
    "series-9": ("#0e8a94", "#56c9d3"),
}
"""Every colour in light and in dark."""


@dataclass(frozen=True)
class Shape:
    """One thing in a picture: what kind it is, its points, and how it looks."""

    kind: str  # line, area, circle, text
    points: tuple[Point, ...]
    colour: str
    look: dict[str, Any] = field(default_factory=dict)


@dataclass
class Drawing:
    """A picture of so many pixels; `label` says what it shows to whoever cannot see it, `wide` that it may scroll."""

    width: float
    height: float
    label: str = ""
    wide: bool = False
    shapes: list[Shape] = field(default_factory=list)

    def line(self, points: Sequence[Point], colour: str, width: float = 1.5, *, dashed: bool = False) -> None:
        """A line through the points."""
        self.shapes.append(Shape("line", tuple(points), colour, {"width": width, "dashed": dashed}))

    def area(self, points: Sequence[Point], colour: str, *, opacity: float = 1.0, title: str = "") -> None:
        """A filled polygon."""
        self.shapes.append(Shape("area", tuple(points), colour, {"opacity": opacity, "title": title}))

    def rect(
        self, x: float, y: float, width: float, height: float, colour: str, *, title: str = "", opacity: float = 1.0
    ) -> None:
        """A filled rectangle."""
        corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
        self.area(corners, colour, title=title, opacity=opacity)

    def circle(self, x: float, y: float, radius: float, colour: str, *, title: str = "", opacity: float = 1.0) -> None:
        """A disc."""
        look = {"radius": radius, "title": title, "opacity": opacity}
        self.shapes.append(Shape("circle", ((x, y),), colour, look))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 13,
        anchor: str = "start",
        colour: str = "ink",
        turn: float = 0,
        bold: bool = False,
    ) -> None:
        """Words; y is their middle, `anchor` is start, middle or end, `turn` degrees against the clock."""
        look = {"text": text, "size": size, "anchor": anchor, "turn": turn, "bold": bold}
        self.shapes.append(Shape("text", ((x, y),), colour, look))

    def svg(self) -> str:
        """For a page that has the colours of `style`."""
        inside = "".join(_svg(shape) for shape in self.shapes)
        size = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}" width="{1.2 * self.width:.0f}"'
        size += ' class="wide"' if self.wide else ""
        label = html.escape(self.label, quote=True)
        return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" {size}>{inside}</svg>'

    def save(self, path: Path) -> None:
        """As a file, in the light colours."""
        with drawing(path, self.width / 100, self.height / 100, field="to") as figure:
            figure.set_layout_engine("none")
            axes = figure.add_axes((0, 0, 1, 1))
            axes.set(xlim=(0, self.width), ylim=(self.height, 0))
            axes.set_axis_off()
            for order, shape in enumerate(self.shapes):
                for made in _draw(axes, shape):
                    made.set_zorder(order)  # what is drawn later lies above


def style() -> str:
    """The colours as CSS: light, dark where the reader's system is dark, and either where the page says so."""
    light, dark = ("".join(f"--{name}:{pair[number]};" for name, pair in PALETTE.items()) for number in (0, 1))
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        + "".join(f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in PALETTE)
    )


def label_colour(number: int, count: int) -> str:
    """The name of the colour of a label; neighbours differ in lightness, too."""
    return f"label-{number}/{max(count, 1)}"


def hexed(colour: str) -> str:
    """The colour in numbers, in light.

    >>> hexed("ink"), hexed("label-0/10")
    ('#1b1f24', '#c44d4d')
    """
    if colour.startswith("label-"):
        number, _, count = colour.removeprefix("label-").partition("/")
        hue = int(number) / int(count) * 0.88
        level = 0.535 if int(number) % 2 == 0 else 0.68
        return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, level, 0.5))
    return PALETTE[colour][0]


def _painted(colour: str, what: str) -> str:
    """The attribute that gives a shape's fill or stroke that colour; a class follows light and dark."""
    return f'{what}="{hexed(colour)}"' if colour.startswith("label-") else f'class="{what[0]}-{colour}"'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _svg(shape: Shape) -> str:
    look, colour = shape.look, _painted(shape.colour, "stroke" if shape.kind == "line" else "fill")
    title = f"<title>{html.escape(look['title'])}</title>" if look.get("title") else ""
    faint = f' fill-opacity="{look["opacity"]:g}"' if look.get("opacity", 1.0) != 1.0 else ""
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in shape.points)
    x, y = shape.points[0] if shape.points else (0.0, 0.0)
    if shape.kind == "line":
        dashes = ' stroke-dasharray="5 4"' if look["dashed"] else ""
        return (
            f'<polyline points="{points}" fill="none" {colour} stroke-width="{_n(look["width"])}"'
            f' stroke-linejoin="round"{dashes}/>'
        )
    if shape.kind == "area":
        return f'<polygon points="{points}" {colour}{faint}>{title}</polygon>'
    if shape.kind == "circle":
        radius = _n(look["radius"])
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{radius}" {colour}{faint}>{title}</circle>'
    turned = f' transform="rotate({-look["turn"]:g} {_n(x)} {_n(y)})"' if look["turn"] else ""
    bold = ' font-weight="600"' if look["bold"] else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" dy="0.35em" font-size="{look["size"]:g}" text-anchor="{look["anchor"]}"'
        f" {colour}{turned}{bold}>{html.escape(look['text'])}</text>"
    )


def _draw(axes: Any, shape: Shape) -> list[Any]:
    """The same shape by matplotlib, one unit a pixel."""
    from matplotlib.patches import Circle, Polygon

    look, colour = shape.look, hexed(shape.colour)
    if shape.kind == "line":
        xs, ys = zip(*shape.points, strict=True) if shape.points else ((), ())
        dashes = "--" if look["dashed"] else "-"
        return list(axes.plot(xs, ys, color=colour, linewidth=look["width"] * 0.72, linestyle=dashes))
    if shape.kind == "area":
        return [axes.add_patch(Polygon(shape.points, facecolor=colour, alpha=look["opacity"], linewidth=0))]
    if shape.kind == "circle":
        disc = Circle(shape.points[0], look["radius"], facecolor=colour, alpha=look["opacity"], linewidth=0)
        return [axes.add_patch(disc)]
    text = axes.text(
        *shape.points[0],
        look["text"],
        fontsize=look["size"] * 0.68,
        color=colour,
        ha={"start": "left", "middle": "center", "end": "right"}[look["anchor"]],
        va="center",
        rotation=look["turn"],
        rotation_mode="anchor",
        fontweight="bold" if look["bold"] else "normal",
    )
    return [text]
