"""Draws one figure of every pool as bars, the best on top, as an SVG for light and dark pages."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from html import escape

from chart import STYLE

WIDTH, LEFT, RIGHT = 760, 270, 110
# A longer bar is cut, and marked so.
MOST_TIMES_THE_MEDIAN = 6
BAR, STEP, TOP, HEAD, BOTTOM = 14, 22, 34, 30, 10
COLOURS = """
  .ours { fill: #0969da }
  .peer { fill: #afb8c1 }
  @media (prefers-color-scheme: dark) {
    .ours { fill: #4493f8 }
    .peer { fill: #59636e }
  }
"""


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    label: str
    is_ours: bool


def draw(title: str, groups: dict[str, list[Bar]]) -> str:
    """Each group has a scale of its own, since only within one the same work is done."""
    bars: list[str] = []
    y = TOP
    for name, group in groups.items():
        y += HEAD
        bars.append(f'<text class="name" x="{LEFT}" y="{y - 10}">{escape(name)}</text>')
        widest = _scale([bar.value for bar in group])
        for bar in group:
            bars += _bar(bar, y, widest)
            y += STEP
    height = y + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            f' width="{WIDTH}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}{COLOURS}</style>",
            f'<text class="name" x="16" y="20">{escape(title)}</text>',
            *bars,
            "</svg>",
            "",
        ]
    )


def _scale(values: list[float]) -> float:
    """What fills the width: the largest, unless it would make all others vanish."""
    usual = MOST_TIMES_THE_MEDIAN * statistics.median(values)
    return max(value for value in values if value <= usual)


def _bar(bar: Bar, y: float, widest: float) -> list[str]:
    cut = bar.value > widest
    width = max(1.0, (WIDTH - LEFT - RIGHT) * min(1.0, bar.value / widest))
    kind = "ours" if bar.is_ours else "peer"
    text = y + BAR - 3
    return [
        f'<text x="{LEFT - 8}" y="{text}" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>',
        f'<text x="{LEFT + width + 6:.1f}" y="{text}">{"» " if cut else ""}{escape(bar.label)}</text>',
    ]
