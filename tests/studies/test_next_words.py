"""What a causal model says next, against one text at a time."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from shesha_studies.language._model_outputs import embed_texts, last_states, mean_states, next_words, perturb_weights  # noqa: E402
from shesha_studies.language_models import Model  # noqa: E402

WORDS = ("<pad>", "<unk>", "<s>", "a", "fine", "film", "dull", "and", "long", "short")
TEXTS = ["a fine film and a long film", "dull", "a dull gala film", "fine and short and unheard of", "short"]


@pytest.fixture(scope="module", params=["right", "left"])
def model(request):
    raw = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    raw.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    reader = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", unk_token="<unk>", padding_side=request.param
    )
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    network = transformers.LlamaModel(transformers.LlamaConfig(**sizes, vocab_size=len(WORDS))).eval()
    return Model(network, reader, "norm", torch.randn(len(WORDS), 16))


def test_words_are_those_of_one_text_at_a_time(model):
    said, true = [], []
    with torch.inference_mode():
        for text in TEXTS:
            ids = torch.tensor([model.reader(text)["input_ids"]])
            scores = model.network(input_ids=ids).last_hidden_state[0, :-1] @ model.head.T
            kept = ids[0, 1:] != WORDS.index("<unk>")
            said += scores.argmax(-1)[kept].tolist()
            true += ids[0, 1:][kept].tolist()
    found = next_words(model, TEXTS, last_states(model, TEXTS))
    assert [found[0].tolist(), found[1].tolist()] == [said, true]
    assert len(true) == 16


def test_rows_are_the_means_that_encoding_gives(model):
    rows = mean_states(last_states(model, TEXTS))
    np.testing.assert_allclose(rows, embed_texts(model, TEXTS, ["norm"])["norm"], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


def test_words_are_scored_as_before_a_change(model):
    before = next_words(model, TEXTS, last_states(model, TEXTS))
    with perturb_weights(model.network, "noise", 2.0, 0):
        during = next_words(model, TEXTS, last_states(model, TEXTS))
    after = next_words(model, TEXTS, last_states(model, TEXTS))
    assert (before[0] == after[0]).all() and (before[0] != during[0]).any()
    assert (before[1] == during[1]).all()
