"""Studies of somebody else's: what `module:name` finds."""

import os
from pathlib import Path

from shesha.studies import Page, Unreachable, study


@study("mine", paper="new", version=1, full={"x": [1, 2, 3, 4]}, quick={"x": [1, 2]})
def mine(x):
    """Does it run?

    And is it told apart from what does not?
    """
    if log := os.environ.get("MINE_LOG"):
        with Path(log).open("a") as lines:
            lines.write(f"{x}\n")
    if os.environ.get("MINE_DIES") == str(x):
        os._exit(9)
    if x == 3 and "MINE_FAILS" in os.environ:
        raise RuntimeError("three is odd")
    if x == 4 and "MINE_MISSING" in os.environ:
        raise Unreachable("the number four (looked for in MINE)")
    return {"square": x * x}


@mine.page
def page(rows, published):
    from shesha.studies import Picture
    from shesha.studies._pictures import figure

    made, (ax,) = figure()
    ax.plot(rows.x, rows.square)
    return Page(
        f"It does, {len(rows)} times.", (("Squares", rows),), (Picture("squares", made, "Squares"),), ("Quite.",)
    )
