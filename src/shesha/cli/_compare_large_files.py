"""`shesha compare` for two files beyond memory, by sums over rows in one pass or by samples."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shesha.cli._outputs import echo


def needs_stretches(files: Sequence[Path], measures: Sequence[str], *, plain: bool) -> bool:
    """Return whether two files are too large for every measure, but can be read in stretches.

    `plain` means that none of the requested options needs single rows.
    """
    from shesha.comparison.memory_needs import none_fits
    from shesha.comparison.sampled_scores import reason_against
    from shesha.io.large_matrices import ENDINGS, open_matrix
    from shesha.measures import choose, takes_moments

    if not plain or len(files) != 2 or any(file.suffix.lower() not in ENDINGS for file in files):
        return False
    try:
        first, second = (open_matrix(file) for file in files)
        chosen = choose(list(measures))
        possible = any(takes_moments(measure) or not reason_against(measure) for measure in chosen)
        return possible and none_fits(first, second, chosen)
    except ValueError:
        # What is wrong with the files is reported later, when they are read.
        return False


def require_shards(files: Sequence[Path], others: Mapping[str, Any]) -> None:
    """Refuse anything but two directories, and any option that needs single rows."""
    from shesha.io.large_matrices import is_sharded

    options = [f"--{name}" for name, value in others.items() if value]
    if options:
        raise ValueError(f"{options[0]} must be left out with --shards, got both")
    if len(files) != 2 or not all(map(is_sharded, files)):
        raise ValueError(f"--shards needs two directories, got {', '.join(map(str, files)) or 'none'}")


def suggest_shards(files: Sequence[Path]) -> None:
    """Print a note if two directories look like two representations in parts."""
    from shesha.io.large_matrices import is_sharded

    if len(files) != 2 or not all(map(is_sharded, files)):
        return
    first, second = ({path.name for path in file.iterdir() if path.suffix in (".npy", ".parquet")} for file in files)
    numbered = [name for name in first if Path(name).stem[-1:].isdigit()]
    if first == second and len(numbered) == len(first) > 1:
        echo(
            f"shesha: {files[0]} and {files[1]} contain {len(first)} numbered files each, and every file is "
            "compared as one representation. If the files are consecutive rows of two representations, pass --shards.",
            err=True,
        )


def compare_large(
    files: Sequence[Path], measures: Sequence[str], sample: Mapping[str, Any], *, seed: int, **chance: Any
) -> Any:
    """Compare the matrices in two files that do not fit in memory.

    Measures that depend only on sums over the rows are exact. These sums are saved, so that rerunning the command
    resumes after an interruption. Other measures are estimated from a sample.
    """
    from shesha.comparison.compare import seed_measures
    from shesha.comparison.estimation_choice import compare_stored
    from shesha.comparison.sampled_scores import Sampling
    from shesha.io.large_matrices import open_matrix
    from shesha.io.representation_names import short_paths
    from shesha.measures import choose, takes_moments

    chosen = seed_measures(choose(list(measures)), seed)
    sampling = Sampling.build(**sample, seed=seed)
    if files[0].resolve() == files[1].resolve():
        raise ValueError(f"FILE must not be repeated, got {files[0]} more than once")
    names = short_paths([file.resolve() for file in files], endings=False)
    moments, state = None, _state_file(files)
    if any(map(takes_moments, chosen)):
        moments = _count_rows(files, names, state)
    first, second = (open_matrix(file) for file in files)
    result = compare_stored(first, second, (names[0], names[1]), chosen, sampling, chance, moments)
    state.unlink(missing_ok=True)
    return result


def _count_rows(files: Sequence[Path], names: Sequence[str], state: Path) -> Any:
    from shesha.moments import Moments

    echo(f"shesha: reading all rows in one pass ({_why_one_pass(files)})", err=True)
    try:
        return Moments.of(*files, names=names, state=state)
    except KeyboardInterrupt:
        echo("shesha: interrupted; rerun the same command to resume", err=True)
        raise
    except ValueError:
        # The user must change the files, and the saved state would not apply to the changed files.
        state.unlink(missing_ok=True)
        raise


def _why_one_pass(files: Sequence[Path]) -> str:
    from shesha.io.large_matrices import is_sharded, open_matrix

    if not any(map(is_sharded, files)):
        return "the files do not fit the memory budget"
    shapes = (open_matrix(file).shape for file in files)
    return "; ".join(f"{file.name}: {n:,} rows x {d:,} features" for file, (n, d) in zip(files, shapes, strict=True))


def _state_file(files: Sequence[Path]) -> Path:
    """Return the path for the state of a pass, whose name is specific to these files and their contents."""
    from shesha.io.large_matrices import is_sharded, open_matrix
    from shesha.support.file_stamps import file_stamp

    parts = [part for file in files for part in (open_matrix(file).files if is_sharded(file) else [file])]  # type: ignore[attr-defined]
    known = "\n".join(f"{file.resolve()} {file_stamp(file)}" for file in parts)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shesha"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"moments-{hashlib.blake2b(known.encode(), digest_size=8).hexdigest()}.npz"
