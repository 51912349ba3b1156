"""Write docs/measures.md from the declarations of the measures."""

from pathlib import Path

from shesha.measures.lookup import page
from shesha.support.files import write_text

if __name__ == "__main__":
    write_text(Path(__file__).resolve().parents[1] / "docs" / "measures.md", page())
