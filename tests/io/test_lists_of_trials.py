"""Lists of equal matrices: one trial each, or one layer each, as labels and names beside them show."""

import numpy as np
import pytest
from scipy.io import savemat

from shesha.io import open_file, read_labels
from shesha.io.file_checks import UnreadableFileError
from shesha.support.provenance import collect_statements

K, SHAPE = 12, (8, 5)
PARTS = list(np.random.default_rng(0).standard_normal((K, *SHAPE)))
CLASSES = np.resize([11, 12, 21], K)
NAMES = [f"E{row}" for row in range(SHAPE[0])]


def cell(values):
    """Return a list as a cell of MATLAB."""
    found = np.empty((1, len(values)), object)
    found[0] = [None] * len(values)
    for place, value in enumerate(values):
        found[0, place] = value
    return found


def write_mat(path, tree):
    savemat(path, {"data": {name: cell(value) if isinstance(value, list) else value for name, value in tree.items()}})


def write_pt(path, tree):
    torch = pytest.importorskip("torch")

    def convert(value):
        if isinstance(value, list):
            return value if isinstance(value[0], str) else [torch.as_tensor(one) for one in value]
        return torch.as_tensor(value)

    torch.save({"data": {name: convert(value) for name, value in tree.items()}}, path)


@pytest.mark.parametrize(("ending", "write"), [(".mat", write_mat), (".pt", write_pt)])
@pytest.mark.parametrize(
    ("tree", "stacked"),
    [
        ({"trial": PARTS, "trialinfo": CLASSES, "label": NAMES, "time": [np.arange(5.0)[None]] * K}, "data.trial"),
        ({"trial": PARTS}, "data.trial"),
        ({"erp": PARTS, "condition": CLASSES}, "data.erp"),
        ({"erp": PARTS}, ""),
        ({"erp": PARTS, "condition": CLASSES, "side": np.resize([1, 2], SHAPE[0])}, ""),
        ({"erp": PARTS, "number": np.arange(K)}, ""),
        ({"erp": PARTS[: SHAPE[0]], "condition": CLASSES[: SHAPE[0]]}, ""),
        ({"hidden_states": PARTS, "y": CLASSES}, ""),
        ({"model": PARTS, "layer_kind": CLASSES}, ""),
    ],
)
def test_a_list_is_of_trials_if_labels_or_names_show_it(tmp_path, ending, write, tree, stacked):
    path = tmp_path / f"file{ending}"
    write(path, tree)
    with collect_statements() as statements:
        found = open_file(path).representations
    if stacked:
        assert {name: matrix.tolist() for name, matrix in found.items()} == {
            stacked: [part.ravel().tolist() for part in PARTS]
        }
        assert f"{stacked}: 12 matrices of 8 x 5" in next(iter(statements))
        assert list(open_file(path, keys=[stacked]).representations) == [stacked]
        assert open_file(path, keys=[f"{stacked}[3]"]).representations[f"{stacked}[3]"].shape == SHAPE
    else:
        assert all(matrix.shape == SHAPE for matrix in found.values()) and len(found) > 1
    if "trialinfo" in tree:
        assert read_labels(path, "trialinfo").tolist() == CLASSES.tolist()


def test_trials_of_other_lengths_are_refused(tmp_path):
    write_mat(tmp_path / "a.mat", {"trial": [*PARTS[1:], PARTS[0][:, :4]], "trialinfo": CLASSES})
    with pytest.raises(UnreadableFileError, match="one shape, because each is a trial, got 12 of 8 x 4 or 8 x 5; cut"):
        open_file(tmp_path / "a.mat")
