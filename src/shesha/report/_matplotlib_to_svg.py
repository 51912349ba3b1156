"""matplotlib pictures as inline SVG, with real text and colours that suit light and dark pages."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shesha.support.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INKS = {"#000000": "currentColor", "#ffffff": "none", "#1f4e79": "var(--first)", "#c55a11": "var(--second)"}
_INKS |= {"#7f7f7f": "var(--quiet)", "#b9c7d6": "var(--band)", "#009e73": "var(--third)"}
"""Replacements for colours that would be invisible on a dark page."""
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "shesha", "font.family": "sans-serif"}
_UNWANTED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_NAMED = re.compile(r'(\bid="|xlink:href="#|url\(#)')


def draw_svg(draw: Callable[[], Axes], name: str) -> str:
    """Draw a picture and return it as an SVG element; `name` makes its identifiers unique on the page."""
    settings = require("matplotlib", "report", "pages need matplotlib").rc_context(_SETTINGS)
    with settings, warnings.catch_warnings():
        # The SVG contains text instead of glyphs, and readers may have fonts for characters that are missing here.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure: Any = draw().figure
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
        require("matplotlib.pyplot", "report").close(figure)
    svg = _NAMED.sub(rf"\g<1>{name}-", _UNWANTED.sub("", text.getvalue())).strip()
    for plain, ink in _INKS.items():
        svg = svg.replace(plain, ink)
    # On small screens, a picture shrinks until its text would become too small; from then on, it scrolls.
    return svg.replace("<svg ", f'<svg style="--natural:{figure.get_figwidth():g}in" ', 1)
