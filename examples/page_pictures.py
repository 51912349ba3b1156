"""Draw the pictures of pages for the documentation: a map of rows, the status page of a monitor, and a figure.

    python examples/page_pictures.py docs

It needs Chromium, whose name or path the variable CHROMIUM may give.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import shesha
from shesha.data import digits_network
from shesha.drift import DriftMonitor
from shesha.drift.status_page import page

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


def photograph(html: Path, picture: Path, size: tuple[int, int]) -> None:
    """Take a picture of a page in a window of this size."""
    program = os.environ.get("CHROMIUM", "chromium")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size[0]},{size[1]}"]
    subprocess.run([program, *options, f"--screenshot={picture.resolve()}", html.resolve().as_uri()], check=True)


def row_map(html: Path) -> None:
    """Write the map of a layer before and after training."""
    layers, labels = digits_network()
    shesha.explore(layers["init_layer3"], layers["trained_layer3"], labels, names=("untrained", "trained")).save_html(
        html
    )


def status(folder: Path, html: Path) -> None:
    """Check a monitor on thirty days, of which the last eight drift, and write its status page."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8)) @ rng.standard_normal((8, 48))
    monitor = DriftMonitor(X, nulls=[X + 0.03 * rng.standard_normal(X.shape) for _ in range(99)])
    monitor.save(folder)
    monitor = DriftMonitor.load(folder)
    for day in range(30):
        noise = 0.03 + 0.02 * max(0, day - 21) + 1.5 * (day == 29)
        monitor.check(X + noise * rng.standard_normal(X.shape), about={"revision": "77aa01" if day < 22 else "90c1d4"})
    # The checks happen now; the page shall show them as daily ones.
    database = next(path for path in folder.iterdir() if path.read_bytes()[:6] == b"SQLite")
    with closing(sqlite3.connect(database)) as history, history:
        for day in range(30):
            at = (NOW - timedelta(days=29 - day, hours=2)).isoformat(timespec="seconds")
            history.execute("UPDATE event SET at = ? WHERE kind = 'check' AND number = ?", (at, day + 1))
    html.write_text(page(folder, NOW), encoding="utf-8")


def figure_of_layers(picture: Path) -> None:
    """Draw the figure of docs/how_to/figures.md by the lines of that page."""
    page = Path(__file__).parents[1] / "docs" / "how_to" / "figures.md"
    lines = page.read_text(encoding="utf-8").split("```py\n")[1].partition("```")[0]
    exec(lines.replace('"layers.pdf"', f"{str(picture)!r}, dpi=140"), {})


def main(out: Path) -> None:
    """Write both pages to a temporary folder and photograph them; draw the figure."""
    figure_of_layers(out / "figure_layers.png")
    with TemporaryDirectory() as place:
        html = Path(place) / "page.html"
        row_map(html)
        photograph(html, out / "row_map.png", (1200, 950))
        status(Path(place) / "canary", html)
        photograph(html, out / "monitor_status.png", (1000, 980))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
