"""Write docs/measures.md from what the measures declare."""

from pathlib import Path

from shesha._atomic import write_text
from shesha.measures._cards import page

if __name__ == "__main__":
    write_text(Path(__file__).resolve().parents[1] / "docs" / "measures.md", page())
