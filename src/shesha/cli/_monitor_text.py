"""Text output of `shesha monitor` other than verdicts: job summaries and lists of earlier checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shesha.results import DriftVerdict


def markdown(verdict: DriftVerdict) -> str:
    """Return a verdict as Markdown for the summary of a CI job."""
    from shesha.report import markdown_table

    rows = [
        [
            score.tier,
            score.measure,
            *(f"{value:.3g}" for value in (score.drift, score.threshold, score.p_value)),
            "beyond" if score.beyond else "",
        ]
        for score in verdict.scores
    ]
    table = markdown_table(["", "measure", "drift", "threshold", "p", ""], rows)
    sentences = [verdict.reason, verdict.advice, *verdict.notes]
    # Text from files must not be interpreted as markup.
    plain = [text.replace("<", "&lt;").replace("`", "'") for text in sentences if text]
    return "\n\n".join([f"### shesha monitor: {verdict.state}", table, *plain]) + "\n"


def status_lines(checks: list[dict[str, Any]], updates: list[dict[str, Any]]) -> list[str]:
    from shesha.report import columns

    lines = []
    if checks:
        rows = [["check", "state", "drift", "p", "evidence"]]
        for event in checks:
            first, sequence = event["scores"][0], event["sequence"]
            numbers = [_short(first["drift"]), _short(first["p_value"])]
            rows.append(
                [event["at"], event["state"], *numbers, _short(sequence["shiryaev_roberts"] if sequence else None)]
            )
        lines += columns(rows, "<<>>>")
    if updates:
        rows = [["update", "state", "new rows", "evidence (log10)"]]
        rows += [
            [update["at"], update["state"], f"{update['n_seen']:,}", f"{update['log10_martingale']:.1f}"]
            for update in updates
        ]
        lines += ["", *columns(rows, "<<>>")] if lines else columns(rows, "<<>>")
    return lines or ["no checks and no updates yet"]


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"
