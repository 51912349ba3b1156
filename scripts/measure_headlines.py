"""Measure how often the headlines of results are true, wrong or undecided: the tables of docs/headlines.md.

    python scripts/measure_headlines.py headlines --seeds 0:100
    python scripts/measure_headlines.py headlines --out docs/headlines.md

The first command measures one file per seed in the folder `headlines`; rerun it to resume. Several processes with
different seeds may share the folder. The second command writes the page from all files in the folder. After a change
of a function, measure it again with `--again REGEX`. If no rule recognises a sentence, no page is written, so a new
wording cannot pass as undecided.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections import Counter
from pathlib import Path

from _headline_checks import SUBJECTS, TRUE, UNDECIDED, WARNED, WRONG, D, N
from scipy.stats import binomtest

from shesha.support.files import write_text
from shesha.support.progress import track

Sentences = dict[str, list[tuple[str, bool]]]
"""Sentences of all data sets, and whether a result warned, by the name of the check."""


def measure(folder: Path, seed: int, chosen: str, again: str) -> None:
    """Run the checks that the file of a seed lacks, and store each sentence as soon as it is known."""
    path = folder / f"seed_{seed:04d}.json"
    known: dict[str, tuple[str, bool]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    missing = [
        check
        for checks in SUBJECTS.values()
        for check in checks()
        if re.search(chosen, check.name)
        and (check.name not in known or (again and re.search(again, check.name) is not None))
    ]
    for check in track(missing, len(missing), f"seed {seed}"):
        known[check.name] = check.run(seed)
        write_text(path, json.dumps(known, indent=0, ensure_ascii=False))


def read(folder: Path) -> Sentences:
    """Return the stored sentences of all seeds."""
    found: Sentences = {}
    for path in sorted(folder.glob("seed_*.json")):
        for name, (sentence, warned) in json.loads(path.read_text(encoding="utf-8")).items():
            found.setdefault(name, []).append((sentence, warned))
    return found


def share(count: int, n: int) -> str:
    """Return a rate with its Wilson interval, in percent."""
    low, high = binomtest(count, n).proportion_ci(method="wilson")
    return f"{100 * count / n:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


HEAD = """# How often are the headlines right?

Each result starts with a sentence that answers the question. This page reports how often this sentence is true, for
data with a known truth. Use it to judge how far you can trust a headline. Each line has {runs} data sets, {n} rows of
{d} features unless stated otherwise, and the default options of the function.

- *True*: the sentence states what is true. "Not above chance" is true of unrelated data.
- *Undecided*: the sentence makes no claim, such as "not above chance" for related data, or the function refuses.
- *Wrong, warned*: the sentence is false, and the result or a warning says that rows may depend on one another.
- *Wrong*: the sentence is false, and nothing warns of it. The 95 % interval is Wilson's.
- *Level*: the rate of false sentences that the function declares: 5 % by default, 1 - 0.95^k if the headline counts
  k uncorrected tests. The last paragraph lists the lines that exceed it.

All numbers are percentages. To repeat the table, run:

```bash
{commands}
python scripts/measure_headlines.py headlines --out docs/headlines.md
```
"""


def page(found: Sentences, seeds: list[int]) -> str:
    """Return the page with one table per subject."""
    n = min(len(values) for values in found.values())
    starts = [seed for seed in seeds if seed - 1 not in seeds]
    stops = [seed + 1 for seed in seeds if seed + 1 not in seeds]
    measured = "\n".join(
        f"python scripts/measure_headlines.py headlines --seeds {start}:{stop}"
        for start, stop in zip(starts, stops, strict=True)
    )
    text, beyond, n_lines = [HEAD.format(runs=n, n=N, d=D, commands=measured)], list[str](), 0
    for subject, checks in SUBJECTS.items():
        text += [f"## {subject}\n", "| function | truth | true | undecided | wrong, warned | wrong | level |"]
        text += ["| --- | --- | --- | --- | --- | --- | --- |"]
        for check in checks():
            counts = Counter(check.judge(*value) for value in found[check.name][:n])
            cells = [f"{100 * counts[outcome] / n:.0f}" for outcome in (TRUE, UNDECIDED, WARNED)]
            line = f"`{check.question}` | {check.truth} | {' | '.join(cells)} | {share(counts[WRONG], n)}"
            text.append(f"| {line} | {100 * check.level:.0f} |")
            n_lines += 1
            if binomtest(counts[WRONG], n).proportion_ci(method="wilson").low > check.level:
                beyond.append(f"- `{check.question}`, {check.truth}: {share(counts[WRONG], n)} % wrong")
        text.append("")
    answer = textwrap.fill(
        f"In {len(beyond)} of {n_lines} lines, headlines are wrong significantly more often than their level. If every "
        f"line were at its level, about {0.025 * n_lines:.0f} lines would be listed by chance. To check a line, "
        "measure it with other seeds in another folder (`--only REGEX`).",
        120,
    )
    return "\n".join([*text, "## Lines that exceed their level\n", answer, "", *beyond, ""]).rstrip() + "\n"


def main() -> None:
    """Measure seeds, list what needs a look, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the sentences, one file per seed")
    parser.add_argument("--seeds", default="", help="first seed and first seed not to measure, as FIRST:STOP")
    parser.add_argument("--only", default="", help="regular expression: measure these checks only")
    parser.add_argument("--again", default="", help="regular expression: measure these checks again")
    parser.add_argument("--out", type=Path, help="write the page to this file")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.seeds:
        first, stop = map(int, options.seeds.split(":"))
        for seed in range(first, stop):
            measure(options.folder, seed, options.only, options.again)
    found, unknown = read(options.folder), False
    for check in (check for checks in SUBJECTS.values() for check in checks()):
        judged = [(check.judge(*value), value[0]) for value in found.get(check.name, [])]
        for outcome, sentence in judged:
            if not outcome:
                print(f"no rule for {check.name}: {sentence}")
                unknown = True
        wrong = [sentence for outcome, sentence in judged if outcome == WRONG]
        if len(wrong) > check.level * len(judged):
            print(f"{len(wrong)} of {len(judged)} wrong: {check.name}: {wrong[0]}")
    if options.out is not None:
        if unknown:
            raise SystemExit("no page: add rules for the sentences above")
        write_text(options.out, page(found, sorted(int(path.stem[5:]) for path in options.folder.glob("seed_*.json"))))


if __name__ == "__main__":
    main()
