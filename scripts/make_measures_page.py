"""Write docs/measures.md from what the measures declare."""

from pathlib import Path

from shesha.measures._cards import page

if __name__ == "__main__":
    Path(__file__).resolve().parents[1].joinpath("docs", "measures.md").write_text(page(), encoding="utf-8")
