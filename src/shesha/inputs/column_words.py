"""What the name of a column says about its content: tables of words, each line with an example.

Add a word to the line of its kind, or a line with an example; tests compare each example with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from shesha.inputs.identity import is_identity_name, words_of
from shesha.support.sampling_units import is_batch_name, is_unit_name


class Words:
    """A table of templates, each with an example.

    In a template, words are separated by spaces, and alternatives by |. A word that begins with ? may be absent, and *
    stands for any words.
    """

    def __init__(self, lines: Mapping[str, str]) -> None:
        self.lines = lines

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_compile, self.lines.values())))

    def fit(self, name: str) -> bool:
        """Return whether the words of a name fit a line.

        Examples
        --------
        >>> SIDE.fit("nTokens"), SIDE.fit("trial_number"), SIDE.fit("width")
        (True, True, False)
        """
        return self._pattern.fullmatch("_".join(words_of(name))) is not None

    def fit_one_word(self, name: str) -> bool:
        """Return whether one of the words of a name fits a line."""
        return any(map(self.fit, words_of(name)))

    def fit_last_word(self, name: str) -> bool:
        """Return whether the last word of a name, without numbers, fits a line."""
        words = [word for word in words_of(name) if not word.isdigit()]
        return bool(words) and self.fit(words[-1])


def _compile(template: str) -> str:
    """Return a template as a regular expression for words that are joined by underscores."""
    pattern = ""
    for place, part in enumerate(template.split(" ")):
        words = r"\w+" if part.strip("?") == "*" else f"(?:{part.removeprefix('?')})"
        if part.startswith("?"):
            pattern += f"(?:_{words})?" if place else f"(?:{words}_)?"
        else:
            pattern += f"_{words}" if pattern and not pattern.endswith("_)?") else words
    return pattern


LABELS = frozenset({"label", "labels", "y", "class", "target"})
"""Names of columns of labels, in lower case."""

_OBJECTS = "objects?|cells?|nuclei|nucleus|single_?cells?|cytoplasm"
OBJECT_COUNT = Words(
    {
        "Cells_Count": f"?metadata|image {_OBJECTS} counts?",
        "Count_Nuclei": f"?metadata|image counts? {_OBJECTS}",
        "number_of_nuclei": f"?metadata|image n|num|number|number_of {_OBJECTS}",
        "Cells_Number_Object": f"?metadata|image {_OBJECTS} number object",
    }
)
"""Columns of the number of cells of a well or pool, on which averages over cells depend."""
_NUMBER_OF = "?id|idx|index|num|number|no|nr"
SIDE = Words(
    {
        "score": "scores?|similarity|distances?|rank|usage|doublet_score|sample_weights?",
        "true_probability": "?* proba|probability",
        "pred_age": "pred|predicted|prediction ?*",
        "n_tokens": "n|num|number_of|prompt|total tokens|chars|words|genes|counts|cells",
        "token_count": "token|char|word count",
        "n_samples": "n obs|rows|samples",
        "count": "counts?|n|tokens?|tokens_used",
        "updated_at": "created|updated|modified|added ?at|utc|on|ts",
        "event_timestamp_ms": "?* timestamp|unix_?(time|ts|ms|us|ns|s)|epoch_(time|ms|s|us|ns) ?ms|us|ns|s|utc",
        "date": "datetime|date|ts|week|visit",
        "row_number": "row_?(num|number|id|nr)",
        "fold": "row|index|idx|level_0|fold|split|seed|site|batch|leiden|louvain",
        "page_number": "page ?number",
        "chunk_index": "chunk ?index|number",
        "epoch_number": "build|epoch ?number|id|nr",
        "Nuclei_Number_Object_Number": "?* image|object number",
        "Nuclei_Location_Center_X": "?* location center|centre|centermass ?* x|y|z",
        "Cytoplasm_Parent_Nuclei": "cells|nuclei|cytoplasm parent *",
        "is_test": "is|in|use|was train(ing)?|test|val(id(ation)?)?|eval|holdout|outlier|doublet|duplicate|deleted"
        "|excluded",
        "clusters": "clusters?",
        "cluster_10": "cluster|leiden|louvain|k?means|h?dbscan *",
        "cell_type_code": "* label|class|target|cluster|code|encoded",
        "trial_number": "stim(ulus)?|condition|trial|session|subject|participant|animal|mouse|run|block|repeat"
        f"|repetition {_NUMBER_OF}|name|code",
        "nFeature_RNA": "n_?count|n_?feature rna",
        "pct_counts_mt": "pct_counts *",
        "percent_mt": "percent_mt|n_genes_by_counts",
        "Metadata_Site": "metadata|location *",
        "longitude": "lat(itude)?|lon(gitude)?|lng",
        "STI 014": r"sti \d{3}",
        **OBJECT_COUNT.lines,
    }
)
"""Columns of numbers that describe the rows."""
CLUSTERS = Words(
    {
        "leiden_0.5": "?* leiden|louvain|k_?means|h?dbscan|pheno_?graph|pam|gmm|(meta)?cluster(s|ing)? ?*",
        "RNA_snn_res.0.8": "?* snn_res *",
    }
)
"""Columns that clustering programs write."""
CLASS = Words({"cell_type": "?* type|celltypes?|class|category|annotation|species|tissue|organ"})
"""Columns of classes that people assign to rows, unlike clusters."""
TRIAL = Words({"trial_number": "trials?|trial_?type|stim(ulus|uli)?|rts?|reaction_time|choices?"})
"""Words in names of columns of tables with one trial per row."""
BEHAVIOUR = Words(
    {
        "rt": "rts?|latency|latencies|accuracy|correct|choices?|responses?|outcomes?|rewards?|rewarded|responded"
        "|feedback|confidence|hit|miss|error|stim(ulus|uli)?|contrast|orientation",
        "reaction_time": "reaction|response|movement|decision time|latency ?ms|s|sec",
        "rt_ms": "rt ms|s|sec",
        "is_correct": "is|was correct|rewarded|hit|error",
    }
)
"""Columns of behaviour and stimuli, which describe the rows of a table of trials."""
QUALITY = Words({"ks_label": "?unit|cluster|ks|phy quality|label|group|type|qc", "default_qc": "default_qc"})
"""Columns in which programs for sorting spikes, and people, judge units."""
_LOG = "log(_1_?p|_2|_10)?|ln"
_OF_ASSAY = "?rna|sct|atac|adt|spatial|peaks|gene|activity|all"
DEPTH = Words(
    {
        "total_counts": f"?{_LOG} n|num|total|sum counts?|umis?|reads|transcripts|genes|features?|frag(ment)?s?|peaks"
        f"|genes_by_counts {_OF_ASSAY} {_OF_ASSAY}",
        "UMI_count": f"?{_LOG} umis?|library|sequencing|seq|read|frag(ment)? counts?|size|depth|number",
        "ncounts": f"?{_LOG} ncounts?|numis?|ngenes|nfeatures?|nfrags|depth",
        "log_counts": f"{_LOG} counts|umis?",
        "unique_fragments": "unique|passed|peak_region|reads_in nfrags|n_frags|frag(ment)?s|filters|peaks",
    }
)
"""Columns of the sequencing depth of cells."""
LENGTH = Words(
    {
        "duration_s": "?seq|sequence|text|doc|document|input|sentence|clip|audio|video len|length|lengths|duration"
        " ?s|sec|secs|seconds|ms|samples|frames|tokens",
        "n_tokens": "n|num|number_of tokens|chars|words|frames|residues|samples|atoms|lines",
        "token_count": "token|char|character|word|frame|residue|atom count",
    }
)
"""Columns of the length of an input, on which averages over padded or many tokens depend."""
DAMAGE = Words(
    {
        "pct_counts_mt": "pct|percent|percentage|frac|fraction ?counts mt|mito|mitochondrial",
        "mitopercent": "mitopercent|percent_?mito",
    }
)
"""Columns of the share of mitochondrial counts, which is large in damaged cells."""
TIME = Words({"date": "time|date|at|epoch|created|updated|modified|when"})
"""Words in names of columns of times."""
EVENT = Words({"onsets": "times?|timestamps?|onsets?|starts?|stops?|ends?|begins?|offsets?"})
"""Words in names of columns of times of events in a recording."""

VECTOR = Words(
    {
        "embedding": "emb(ed(ding)?)?s?|vec(tor)?s?|repr(esentation)?s?|latents?|activations?|features?|hidden|states?",
        "int8": "u?int",
    }
)
"""Words in names of columns that contain vectors; services name columns of codes int8 and uint8."""
PROMISE = Words({"vector": "emb(ed(ding)?)?s?|vec(tor)?s?|representations?|latents?|activations?"})
"""Words that, at the end of a name, promise vectors: other contents are refused."""
TOKENS = Words({"input_ids": "input|token|token_type|decoder_input ids", "attention_mask": "attention_mask|tokens"})
"""Columns of lists for a model to encode, which are no representations."""
NO_VECTOR = Words({**TOKENS.lines, "bbox": "labels|bbox|shape|size"})
"""Columns of lists that are never representations beside others."""
POSITIONS = Words({"indices": "index|indices|indexes|positions|dims"})
"""Last words in names of columns of the positions of sparse values."""
FAMILY = Words(
    {
        "dim": "d(im)?|emb(ed(ding)?)?s?|e|v(ec(tor)?)?|x|f(eat(ure)?)?s?|z|h(idden)?|c|repr?|col(umn)?|val(ue)?",
        "pc": "pca?|lsi|svd|ica?|nmf|mofa|ld|lda|lv|factor|topic|comp(onent)?|latent|harmony|scan?vi",
        "neuron": "unit|neuron|channel|ch|pixel|px",
    }
)
"""Last words in names of numbered columns that form a matrix, whatever else the table contains."""
LAYER = Words({"layer": "layers?|l|h|hidden|blocks?|models?|states?"})
"""Words in names of numbered columns of several layers, which are not one matrix."""
ITEM = Words(
    {
        "doc": "(doc(ument)?|text|sent(ence)?|passage|paragraph|query|question|answer|prompt|input|example|review|tweet"
        "|image|img|picture|photo|video|clip|audio|utt(erance)?|recording|song|protein|seq(uence)?|trial)s?"
    }
)
"""Words in names of numbered arrays of one input each, such as its tokens."""

ELECTRODE = re.compile(r"(EEG )?(Fp|AFp?|F[CT]?|CP?|TP?|PO?|O|I|A|M)(z|\d{1,2})h?(-\w+)?", re.IGNORECASE)
"""Names of electrodes of the 10-20 system."""

FEATURE_NAME = Words(
    {
        "gene_id": "(neuron|unit|cell|roi|channel|electrode|voxel|gene|feature|variable|dim(ension)?|component|latent"
        "|col(umn)?)s? ?id|name|idx|index|number|no"
    }
)
"""Columns that, in a table with one row for each input and feature, name the feature."""
MODEL = Words({"embedding_model_name": "?* model|encoder|checkpoint|embedder|layer ?name|id"})
"""Columns that say which model computed a row."""
WELL = Words({"Metadata_Well": "?metadata|image|plate|assay well ?id|name|position"})
"""Columns of the well of a plate, whose position affects what is measured."""
CONTENT = Words(
    {"review": "text|sentence|document|content|title|prompt|query|question|review|passage|abstract|caption"}
)
"""Columns of text that identify rows if their values are distinct."""
PART = Words(
    {
        "chunk_id": "?metadata well|chunk|page|part|segment|passage|paragraph|sent(ence)?|section|window|turn|line|span"
        f"|frame|pos(ition)?|offset {_NUMBER_OF}",
        "Start (s)": "?segment|window|clip|chunk start|begin|onset ?time|index|idx|frame|char|s|sec|seconds|ms",
    }
)
"""Columns that number the parts of a document or recording, or say where they begin."""
WHOLE = Words(
    {
        "metadata.source": "?metadata (doc(ument)?|source|file|article|book|video|clip|slide|wsi|scan|url|path|author"
        "|speaker|spk|user|customer|conversation|thread|recording|song|donor|patient|subject|participant|person)(_?name)?"
    }
)
"""Columns of text for documents, recordings or persons, whose parts another column may number."""
LEVEL = Words(
    {
        "session_id": "?metadata plate|barcode|subj(ect)?|sub|participant|patient|donor|animal|mouse|monkey|user|item"
        "|session|ses|run|block|trial|repeat|repetition|rep|stim(ulus)?|site|field|fov|slide|tile|visit|experiment"
        f"|recording|day {_NUMBER_OF}|name"
    }
)
"""Columns that repeat, and identify rows together with others, such as subject, session and trial."""

_PICTURE = re.compile(r"x?_?((f?it)?tsne|umap|phate|spatial|draw_?graph(_fa|_fr)?|mde|trimap|pacmap)")
"""Names of embeddings that are made for plots."""
PICTURE_COLUMNS = 3
"""Largest number of columns of an embedding that is made for plots."""


def label_like_names(names: Iterable[str]) -> list[str]:
    """Return those names that usually denote labels."""
    return [name for name in names if name.lower() in LABELS]


def is_part_name(name: str) -> bool:
    """Return whether a column is named like documents, persons or sessions, of which several rows may come.

    Examples
    --------
    >>> [name for name in ("doc_id", "speaker", "session_id", "n_genes") if is_part_name(name)]
    ['doc_id', 'speaker', 'session_id']
    """
    return WHOLE.fit(name) or LEVEL.fit(name) or is_identity_name(name)


def is_design_name(name: str) -> bool:
    """Return whether a column is named like batches, sampling units, their parts or classes, which are facts on rows.

    Examples
    --------
    >>> [name for name in ("donor_id", "cell_type", "leiden", "n_genes") if is_design_name(name)]
    ['donor_id', 'cell_type']
    """
    return is_batch_name(name) or is_unit_name(name) or is_part_name(name) or CLASS.fit(name)


def is_picture(name: str, n_columns: int) -> bool:
    """Return whether an embedding has so few columns that it was made for plots, and no name that denies this."""
    words = [word for word in words_of(name) if word != "x"]
    denied = any(map(FAMILY.fit, words)) and not is_picture_name(name)
    return n_columns <= PICTURE_COLUMNS and not denied


def is_picture_name(name: str) -> bool:
    """Return whether an embedding is named like those that are made for plots, such as UMAP."""
    return _PICTURE.fullmatch(name.lower()) is not None
