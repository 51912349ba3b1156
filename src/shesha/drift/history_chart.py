"""Chart the drift over time as inline SVG: one point per check, the threshold, and the alarms."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import inf, isfinite, log10
from typing import NamedTuple

_WIDTH, _HEIGHT = 460, 160
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 8, 12, 26
_MANY = 20.0
"""Ratio of the largest to the smallest value above which the axis is logarithmic."""


class Check(NamedTuple):
    """One check: its time in words, its drift and threshold (NaN if missing), and the monitor's state."""

    at: str
    drift: float
    threshold: float
    state: str


def history_chart(measure: str, checks: Sequence[Check]) -> str:
    """Return a chart of one measure's drift over checks, oldest first, as SVG; text is escaped.

    Missing values are not drawn. On a logarithmic axis, values of zero or less are drawn at the lower edge.

    Examples
    --------
    >>> found = history_chart("<CKA>", [Check("today", 0.2, 0.1, "alert")])
    >>> "&lt;CKA&gt;: 1 check" in found, 'class="alert"' in found
    (True, True)
    """
    scale = _Scale([value for check in checks for value in (check.drift, check.threshold)])
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(checks) - 1)
    xs = [_LEFT + (i * step if len(checks) > 1 else (_WIDTH - _LEFT - _RIGHT) / 2) for i in range(len(checks))]
    known = [(x, check) for x, check in zip(xs, checks, strict=True) if isfinite(check.drift)]
    n_beyond = sum(check.drift > check.threshold for check in checks)
    caption = (
        f"{measure}: {len(checks)} {'check' if len(checks) == 1 else 'checks'}, {n_beyond} beyond the threshold; "
        f"last drift {_number(checks[-1].drift)}, threshold {_number(checks[-1].threshold)}"
    )
    limits = " ".join(
        # Cut off at the axes, so that no line crosses the labels.
        f"M{max(_LEFT, x - step / 2):.1f} {scale.y(check.threshold):.1f}H{min(_WIDTH - _RIGHT, x + step / 2):.1f}"
        for x, check in zip(xs, checks, strict=True)
        if isfinite(check.threshold)
    )
    line = " ".join(f"{x:.1f},{scale.y(check.drift):.1f}" for x, check in known)
    marks = "".join(_mark(x, scale.y(check.drift), check) for x, check in known)
    axis = "".join(
        f'<text x="{_LEFT - 6}" y="{scale.y(value) + 5:.1f}" text-anchor="end">{_number(value)}</text>'
        f'<path class="grid" d="M{_LEFT} {scale.y(value):.1f}H{_WIDTH - _RIGHT}"/>'
        for value in (scale.high, scale.low)
    )
    ends = f'<text x="{_LEFT}" y="{_HEIGHT - 5}">{escape(checks[0].at)}</text>'
    ends += f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 5}" text-anchor="end">{escape(checks[-1].at)}</text>'
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(caption)}">{axis}{ends}'
        f'<path class="limit" d="{limits}"/><polyline class="line" points="{line}"/>{marks}</svg>'
    )


class _Scale:
    """The vertical scale, which is logarithmic if the values differ by large factors."""

    def __init__(self, values: Sequence[float]) -> None:
        positive = [value for value in values if isfinite(value) and value > 0]
        top, least = max(positive, default=1.0), min(positive, default=1.0)
        self.logarithmic = top / least > _MANY
        self.high = 10 ** (log10(top) + 0.1) if self.logarithmic else 1.15 * top
        self.low = 10 ** (log10(least) - 0.1) if self.logarithmic else 0.0

    def y(self, value: float) -> float:
        """Return the vertical position of a value, measured from the top."""
        share = (value - self.low) / (self.high - self.low)
        if self.logarithmic:
            where = log10(value) if value > 0 else -inf
            share = (where - log10(self.low)) / (log10(self.high) - log10(self.low))
        return _TOP + (1 - min(1.0, max(0.0, share))) * (_HEIGHT - _TOP - _BOTTOM)


def _mark(x: float, y: float, checked: Check) -> str:
    """Draw one check: a diamond for an alarm, otherwise a dot, so that shape as well as colour differs."""
    kind = checked.state.split()[0]
    shape = (
        f'<path class="{escape(kind)}" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z">'
        if kind == "alert"
        else f'<circle class="{escape(kind)}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
    )
    end = "path" if kind == "alert" else "circle"
    return f"{shape}<title>{escape(checked.at)}: {_number(checked.drift)}, {escape(checked.state)}</title></{end}>"


def _number(value: float) -> str:
    return f"{value:.2g}" if isfinite(value) else "no value"
