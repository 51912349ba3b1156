"""A canary in training logs through the trainer's loggers, and the training does not notice it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from shesha.drift import callbacks  # noqa: E402
from shesha.drift.training_path import Watch, numbers  # noqa: E402


@dataclass
class Said:
    state: str
    drift: float

    def to_dict(self):
        scores = {"rdm": {"value": self.drift, "p_value": float("nan"), "reason": "none", "alarm": True}}
        return {"state": self.state, "scores": scores, "n_rows": 4}


@dataclass
class Monitor:
    """Says how far rows are from the first ones, and draws random numbers, as a careless one might."""

    seen: list = field(default_factory=list)
    state: str = "ok"

    def check(self, current):
        self.seen.append(np.array(current))
        np.random.rand(3), random.random(), torch.rand(3)  # noqa: NPY002
        return Said(self.state, float(np.abs(self.seen[0] - current).mean()))


class Net(nn.Module):
    """A classifier with dropout, whose loss shows any change of the random state."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU())
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 2)

    def forward(self, x, labels=None):
        logits = self.head(self.norm(self.body(x)))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


X = torch.from_numpy(np.random.default_rng(0).standard_normal((32, 4)).astype(np.float32))
Y = (X[:, 0] > 0).long()


def rows(model):
    """Return what is before the head; with dropout it would differ from call to call."""
    assert not model.training
    return model.body(X[:6]).numpy()


def test_a_plain_loop_is_the_same_with_a_canary():
    def train(every):
        torch.manual_seed(0), np.random.seed(0), random.seed(0)  # noqa: NPY002
        model, losses, monitor = Net().train(), [], Monitor()
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(1, 7):
            optimiser.zero_grad()
            loss = model(X, Y)["loss"]
            loss.backward()
            if every and step % every == 0:
                callbacks.check(model, monitor, rows)
            optimiser.step()
            losses.append(loss.item())
        drawn = (torch.rand(1).item(), np.random.rand(), random.random())  # noqa: NPY002
        return losses, drawn, model.norm.running_mean.tolist(), monitor.seen

    plain, watched = train(0), train(2)
    assert plain[:3] == watched[:3]
    assert len(watched[3]) == 3
    assert np.abs(watched[3][2] - watched[3][0]).max() > 0


def test_flags_return_also_after_an_error():
    model = Net().train()
    model.norm.eval()

    def fail(_):
        raise RuntimeError("no canary")

    with pytest.raises(RuntimeError, match="no canary"):
        callbacks.check(model, Monitor(), fail)
    assert model.training
    assert model.body[1].training
    assert not model.norm.training
    assert torch.is_grad_enabled()


def test_a_watch_is_due_every_k_steps_and_once_a_step():
    monitor = Monitor()
    watch, model = Watch(monitor, rows, 3), Net()
    assert [step for step in range(10) if watch.is_due(step)] == [3, 6, 9]
    assert watch.look(model, 6, ask=False) == {} and watch.is_due(6)
    assert not watch.has_alert()
    for step, state in ((3, "alert"), (6, "ok"), (9, "alert")):
        monitor.state = state
        watch.look(model, step)
        assert not watch.is_due(step)
        assert watch.has_alert() == (state == "alert")


def test_numbers_are_what_loggers_take():
    assert numbers(Said("alert", 0.5)) == {"canary/level": 2.0, "canary/rdm/value": 0.5}
    assert numbers(Said("not estimable", float("nan")), "probe") == {"probe/level": 3.0}

    class Listed:
        def to_dict(self):
            return {"state": "OK", "scores": [{"name": "cka", "value": 1}, {"value": 2}]}

    assert numbers(Listed()) == {"canary/level": 0.0, "canary/cka/value": 1.0, "canary/1/value": 2.0}


def test_a_canary_encodes_the_same_rows_of_whatever_state(monkeypatch):
    asked = []

    def encode(model, data, layers, **options):
        asked.append((data, layers, options))
        return {"first": np.zeros(2), "second": np.ones(2)}

    monkeypatch.setattr("shesha.extract.encode", encode)
    watched = callbacks.canary(iter(["a", "b"]), "tokenizer", pool="cls")
    assert watched(Net()).tolist() == watched(Net()).tolist() == [1, 1]
    assert asked == [(["a", "b"], "all", {"reader": "tokenizer", "pool": "cls"})] * 2
    with pytest.raises(ValueError, match="data must contain at least one text or image, got none"):
        callbacks.canary([], None)


class Letters:
    """Reads letters as tokens."""

    pad_token_id, model_max_length, chat_template = 0, 24, None

    def __call__(self, texts, **_):
        return {"input_ids": [[ord(letter) % 30 + 1 for letter in text] for text in texts]}


def test_the_encoder_of_a_classifier_is_watched():
    transformers = pytest.importorskip("transformers")
    from shesha.drift.perturb import gaussian_noise

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**sizes, vocab_size=40)).train()
    watched = callbacks.canary(["one", "two texts", "and three"], Letters(), batch_size=2)
    before = watched(model)
    assert before.shape == (3, 16)
    np.testing.assert_array_equal(watched(model), before)
    with gaussian_noise(model, 0.2):
        assert np.abs(watched(model) - before).max() > 0.01
    np.testing.assert_array_equal(watched(model), before)
    first = callbacks.canary(["one"], Letters(), "encoder.layer.0", pool="cls")(model)
    with torch.no_grad():
        states = (
            model.eval().bert(torch.tensor(Letters()(["one"])["input_ids"]), output_hidden_states=True).hidden_states
        )
    np.testing.assert_allclose(first[0], states[1][0, 0], atol=1e-5)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        return {"x": X[row], "labels": Y[row]}


def test_transformers_trains_the_same_with_a_canary(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    logged = []

    class Logger(transformers.TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            logged.append(dict(logs))

    def train(every, attach=True, state="ok"):
        transformers.set_seed(0)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path), max_steps=6, per_device_train_batch_size=8, logging_steps=1, report_to=[],
            save_strategy="no", use_cpu=True, disable_tqdm=True, learning_rate=0.1, seed=1,
        )  # fmt: skip
        trainer = transformers.Trainer(Net(), arguments, train_dataset=Rows(), callbacks=[Logger()])
        trainer.remove_callback(transformers.PrinterCallback)
        monitor = Monitor(state=state)
        if every:
            watch = callbacks.CanaryCallback(monitor, rows, every, stop=state == "alert")
            watch.attach(trainer) if attach else trainer.add_callback(watch)
        trainer.train()
        losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
        norms = [one["grad_norm"] for one in trainer.state.log_history if "grad_norm" in one]
        weights = {name: one.detach().clone() for name, one in trainer.model.named_parameters()}
        return losses, norms, weights, monitor, trainer.state.log_history

    plain = train(0)
    logged.clear()
    for attach in (True, False):
        watched = train(2, attach)
        assert len(plain[0]) == 6
        assert watched[:2] == plain[:2]
        assert all(torch.equal(one, plain[2][name]) for name, one in watched[2].items())
        steps = [one["step"] for one in watched[4] if "canary/rdm/value" in one]
        assert steps == [2, 4, 6]
        assert len(watched[3].seen) == 3
    # Only an attached one reaches the other loggers.
    assert sum("canary/level" in one for one in logged) == 3
    assert len(train(2, state="alert")[0]) == 2


# The library warns of whatever a short run on a small machine has.
@pytest.mark.filterwarnings("ignore")
def test_lightning_trains_the_same_with_a_canary(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()
            self.losses = []

        def training_step(self, batch, _):
            loss = self.net(**batch)["loss"]
            self.losses.append(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Logger(lightning.loggers.logger.DummyLogger):
        def __init__(self) -> None:
            super().__init__()
            self.found = []

        def log_metrics(self, metrics, step):
            self.found.append((step, metrics))

    def train(every, stop=False):
        lightning.seed_everything(0, verbose=False)
        module, logger, monitor = Module(), Logger(), Monitor(state="alert")
        loader = torch.utils.data.DataLoader(Rows(), batch_size=8, shuffle=True)
        watch = [callbacks.LightningCanary(monitor, rows, every, module="net", stop=stop)] if every else []
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", logger=logger, callbacks=watch, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path, log_every_n_steps=1,
        )  # fmt: skip
        trainer.fit(module, loader)
        return module, [step for step, metrics in logger.found if "canary/level" in metrics], monitor

    plain, watched, stopped = train(0), train(3), train(3, stop=True)
    assert watched[0].losses == plain[0].losses
    assert len(plain[0].losses) == 8
    assert watched[1] == [3, 6]
    assert len(watched[2].seen) == 2
    assert len(stopped[0].losses) < 8


def test_a_real_monitor_is_asked_and_its_scores_are_logged():
    from shesha.drift import DriftMonitor
    from shesha.drift.perturb import gaussian_noise

    torch.manual_seed(0)
    model = Net()
    inputs = torch.randn(40, 4)

    def canary(model):
        return model.body(inputs).numpy()

    monitor = DriftMonitor(canary(model.eval().requires_grad_(False)), false_alarm=0.05)
    same = numbers(callbacks.check(model, monitor, canary))
    assert same["canary/level"] == 0
    with gaussian_noise(model, 3.0):
        broken = numbers(callbacks.check(model, monitor, canary))
    assert broken["canary/level"] == 2
    drifts = [name for name in broken if name.endswith("/value")]
    assert len(drifts) >= 3
    assert all(broken[name] > same[name] for name in drifts)


def test_a_path_records_the_drift_of_each_step():
    from shesha.drift import TrainingPath
    from shesha.stability import drift_path

    rng = np.random.default_rng(0)
    states = {str(step): rng.standard_normal((12, 5)) + step for step in (0, 50, 100)}
    path = TrainingPath(metric="euclidean")
    for step, state in states.items():
        last = path.record(int(step), state)
    known = drift_path(states, metric="euclidean")
    assert path.result() == known
    assert numbers(last) == {
        "canary/drift_from_first": known.from_first[-1],
        "canary/drift_from_previous": known.from_previous[-1],
    }
    with pytest.raises(ValueError, match="step must be above 100, the last one, got 100"):
        path.record(100, states["0"])


def test_a_trainer_begins_the_path_before_its_first_step(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from shesha.drift import TrainingPath

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=4, per_device_train_batch_size=8, report_to=[], save_strategy="no",
        use_cpu=True, disable_tqdm=True, learning_rate=0.1,
    )  # fmt: skip
    trainer, path = transformers.Trainer(Net(), arguments, train_dataset=Rows()), TrainingPath()
    callbacks.CanaryCallback(path, rows, 2).attach(trainer)
    trainer.train()
    assert path.result().names == ("0", "2", "4")
    assert path.result().from_first[2] > 0
