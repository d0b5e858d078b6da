"""Draws how long calls took over time, one panel a peer, as an SVG for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape

from measure import Figure

WIDTH, LEFT, RIGHT = 760, 64, 24
PANEL, GAP, TOP, BOTTOM = 92, 36, 60, 46
LOWEST_MS, HIGHEST_MS = 1.0, 3000.0
GRID_MS = {1.0: "1 ms", 10.0: "10 ms", 100.0: "100 ms", 1000.0: "1 s"}
# Shorter ones could not be seen.
NARROWEST = 1.2
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #57606a }
  .name { font-weight: 600; fill: #1f2328 }
  .grid { stroke: #d0d7de }
  .call { fill: #0969da }
  .stall { fill: #cf222e }
  .mark { fill: #57606a }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 }
    .name { fill: #f0f6fc }
    .grid { stroke: #3d444d }
    .call { fill: #4493f8 }
    .stall { fill: #f85149 }
    .mark { fill: #9198a1 }
  }
"""


@dataclass
class Panel:
    """A peer: the slowest call of each moment in milliseconds, when a new worker answered, a remark."""

    peer: str
    moments: dict[float, float] = field(default_factory=dict)
    replaced: list[float] = field(default_factory=list)
    about: str = ""


def panels(figures: Iterable[Figure], case: str, peers: list[str]) -> list[Panel]:
    found = {peer: Panel(peer) for peer in peers}
    for figure in figures:
        if figure.case != case or figure.peer not in found:
            continue
        panel = found[figure.peer]
        kind, _, which = figure.metric.partition(" ")
        if kind == "moment":
            panel.moments[float(which)] = figure.value
        elif kind == "replaced" and which:
            panel.replaced.append(figure.value)
        elif kind == "slowest":
            panel.about = f"slowest of {figure.count:,} calls: {figure.value:,.0f} ms"
    return [panel for panel in found.values() if panel.moments]


def draw(title: str, panels: list[Panel], stalls_from_ms: float, seconds: float) -> str:
    """`stalls_from_ms`: what took as long or longer is drawn as a stall."""
    height = TOP + len(panels) * (PANEL + GAP) - GAP + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="name" x="{LEFT}" y="18">{escape(title)}</text>',
    ]
    for number, panel in enumerate(panels):
        top = TOP + number * (PANEL + GAP)
        lines += _grid(top) + _panel(panel, top, stalls_from_ms, seconds)
    lines += _time_axis(height - BOTTOM, seconds)
    return "\n".join([*lines, "</svg>", ""])


def _grid(top: int) -> list[str]:
    lines = []
    for ms, label in GRID_MS.items():
        y = top + _y(ms)
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    return lines


def _panel(panel: Panel, top: int, stalls_from_ms: float, seconds: float) -> list[str]:
    paths: dict[str, list[str]] = {"call": [], "stall": []}
    for at, ms in panel.moments.items():
        y = _y(max(ms, LOWEST_MS * 1.1))
        width = max(NARROWEST, min(_x(at + ms / 1000, seconds), WIDTH - RIGHT) - _x(at, seconds))
        kind = "stall" if ms >= stalls_from_ms else "call"
        paths[kind].append(f"M{_x(at, seconds):.1f} {top + PANEL}v{y - PANEL:.1f}h{width:.1f}V{top + PANEL}z")
    lines = [f'<path class="{kind}" d="{"".join(path)}"/>' for kind, path in paths.items() if path]
    marks = "".join(f"M{_x(at, seconds):.1f} {top + 1}l-4 -7h8z" for at in panel.replaced)
    lines += [f'<path class="mark" d="{marks}"/>'] if marks else []
    lines.append(f'<text class="name" x="{LEFT}" y="{top - 10}">{escape(panel.peer)}</text>')
    lines.append(f'<text x="{WIDTH - RIGHT}" y="{top - 10}" text-anchor="end">{escape(panel.about)}</text>')
    return lines


def _time_axis(top: int, seconds: float) -> list[str]:
    lines = []
    for second in range(0, int(seconds) + 1, 2):
        x = _x(second, seconds)
        lines.append(f'<text x="{x:.1f}" y="{top + 18}" text-anchor="middle">{second} s</text>')
    legend = (
        "time; each bar is the slowest call that began in 50 ms; ▼ the first call that a new worker answered"
    )
    lines.append(f'<text x="{LEFT}" y="{top + 38}">{legend}</text>')
    return lines


def _x(second: float, seconds: float) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * second / seconds


def _y(ms: float) -> float:
    """From the top of a panel; logarithmic."""
    share = math.log(min(ms, HIGHEST_MS) / LOWEST_MS) / math.log(HIGHEST_MS / LOWEST_MS)
    return PANEL * (1 - share)
