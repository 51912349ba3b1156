"""Studies of somebody else's: what `module:name` finds."""

import os
import time
from pathlib import Path

import numpy as np

from shesha_studies import Check, Page, Unreachable, judge_number, missing_checks, study


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
    from shesha_studies import Picture
    from shesha_studies.framework.pictures import figure

    if set(rows.x) == {4}:
        raise KeyError("no two")
    made, (ax,) = figure()
    ax.plot(rows.x, rows.square)
    checks = (
        judge_number("Squares, Table 1", "the square of 1", 1, float(rows.square.min())),
        judge_number("Squares, Table 1", "the square of 2", 5, 4.0, why="five is odd"),
        Check("Squares, 1", "squares | cubes are alike", "yes", "no", "does not hold", "they are not"),
        *missing_checks("Squares, Table 2", [("a cube", 27)], "no cubes at hand"),
    )
    return Page(
        f"It does, {len(rows)} times.",
        (("Squares", rows),),
        (Picture("squares", made, "Squares"),),
        ("Quite.",),
        checks,
    )


@study("many", paper="new", version=1, full={"x": range(400)}, quick={"x": range(4)})
def many(x):
    """Are many cheap cells the same however often they are interrupted?"""
    if log := os.environ.get("MINE_LOG"):
        with Path(log).open("a") as lines:
            lines.write(f"{x}\n")
    time.sleep(float(os.environ.get("MINE_SECONDS", "0")))
    return {"drawn": float(np.random.default_rng(x).normal()), "square": x * x}


@many.page
def page_of_many(rows, published):
    return Page(f"The sum is {rows.drawn.sum():.3f}.", (("Means", rows.mean().to_frame("mean").reset_index()),))
