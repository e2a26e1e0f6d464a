import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import codebook_of, codes_of, records_of, shared
from hypothesis import given
from hypothesis import strategies as st

from modp.__main__ import main
from modp.base import devices
from modp.base.errors import InputError
from modp.models.blades import fitting, losses, published, training
from modp.models.blades import network as blades
from modp.models.blades.recipe import Shape, Stage
from modp.survey import records
from modp.survey.records import Records

SIZES = (2, 3, 1, 4)
CODEBOOK = codebook_of(*SIZES)
STARTS = CODEBOOK.block_starts
CPU = torch.device("cpu")


def model(number: int = 3, seed: int = 0) -> blades.Blades:
    return shaped(Shape(blades=number, reduced=4), seed)


def shaped(shape: Shape, seed: int = 0) -> blades.Blades:
    return blades.Blades(torch.from_numpy(STARTS), shape, torch.Generator().manual_seed(seed))


def random_records(n: int, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    other = [(first + rng.integers(0, s, n) * rng.integers(0, 2, n)) % s for s in SIZES[1:]]
    return records_of(np.column_stack([first, *other]).astype(np.int16), SIZES)


def binary_of(n: int) -> torch.Tensor:
    """One-hot answers of so many random records."""
    return torch.from_numpy(random_records(n).one_hot)


def trainer(some: Records, threads: int = 1, seed: int = 1) -> training.Trainer:
    return training.Trainer(model(3), some, torch.Generator().manual_seed(seed), threads, CPU)


STAGES = [
    Stage(loss="mean_square", epochs=3, learning_rate=0.02, batch=64),
    Stage(loss="z", epochs=3, learning_rate=0.01, batch=64),
]


@given(st.integers(0, 2**31), st.data())
def test_no_blade_predicts_a_question_from_itself(seed, data):
    """Minus-one: a question's own answer never reaches its own prediction by any blade."""
    scrambled = model()
    with torch.no_grad():
        scrambled.weight.normal_(generator=torch.Generator().manual_seed(seed))
    codes = random_records(5, seed).codes
    for question, size in enumerate(SIZES):
        changed = codes.copy()
        changed[:, question] = data.draw(st.integers(0, size - 1))
        block = slice(STARTS[question], STARTS[question + 1])
        before, after = (
            scrambled.blade_outputs(torch.from_numpy(records.one_hot(c, STARTS)))[:, :, block]
            for c in (codes, changed)
        )
        assert torch.equal(before, after)


def test_other_answers_do_reach_a_prediction():
    codes = random_records(5).codes
    changed = codes.copy()
    changed[:, 0] = 1 - changed[:, 0]
    binary = [torch.from_numpy(records.one_hot(c, STARTS)) for c in (codes, changed)]
    before, after = (model().blade_outputs(b)[:, :, 2:] for b in binary)
    assert not torch.allclose(before, after)


@pytest.mark.pipeline
def test_diagonal_blocks_stay_zero_through_training():
    fitted = trainer(random_records(200))
    fitted.fit(STAGES, lambda _: None)
    within = 1 - blades.between_questions(torch.from_numpy(STARTS))
    weight = fitted.model.weight.detach()
    assert weight.abs().sum() > 0
    assert (weight * within[:, None, :]).abs().sum() == 0


def test_forward_equals_the_papers_formula_in_float64():
    three = model().double()
    binary = binary_of(6).double()
    with torch.no_grad():
        predictions = three(binary).numpy()
        gate = three.gate(binary).numpy()
        weight = (three.weight * three.mask).numpy()
        bias = three.bias.numpy()
    assert gate.sum(1) == pytest.approx(np.ones(6))
    for n, record in enumerate(binary.numpy()):
        expected = sum(
            gate[n, b] / (1 + np.exp(-(record @ weight[:, b] + bias[b]))) for b in range(three.blades)
        )
        assert predictions[n] == pytest.approx(expected, abs=1e-12)


def test_mean_square_equals_the_slow_reference():
    rng = np.random.default_rng(0)
    predictions, binary = rng.random((5, 10)), random_records(5).one_hot
    expected = sum((p - r) ** 2 for p, r in zip(predictions.flat, binary.flat, strict=True)) / 50
    found = losses.mean_square(torch.from_numpy(predictions), torch.from_numpy(binary))
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_z_loss_equals_the_papers_listing_cell_by_cell():
    rng = np.random.default_rng(0)
    n, output, target = 50, rng.random((50, 10)), random_records(50).one_hot.astype(float)
    total = 0.0
    for i in range(10):
        for j in range(10):
            question = np.searchsorted(STARTS, [i, j], side="right")
            if question[0] == question[1]:
                continue
            p_out = (output[:, i] @ output[:, j] + 0.01) / n
            p_true = (target[:, i] @ target[:, j] + 0.01) / n
            pooled = (p_out + p_true) / 2
            total += (p_true - p_out) ** 2 / (pooled * (1 - pooled) * (2 / n) + 1e-5)
    between = blades.between_questions(torch.from_numpy(STARTS)).double()
    crosstabs = [torch.from_numpy(x.T @ x) for x in (output, target)]
    assert float(losses.z_loss(*crosstabs, n, between)) == pytest.approx(total / 100, rel=1e-12)


def test_z_gradient_of_a_whole_batch_is_the_derivative_of_the_z_loss():
    fitted = trainer(random_records(120))
    found = training._ZGradient(fitted, STAGES[1])(torch.arange(120))
    predictions = fitted.model(fitted.records(torch.arange(120)))
    loss = losses.z_loss(predictions.T @ predictions, fitted.true.float(), 120, fitted.between)
    for one, other in zip(found, fitted.gradients(loss), strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-5 * float(other.abs().max() + 1e-9))


@pytest.mark.pipeline
def test_training_lowers_each_loss_and_keeps_the_best_weights():
    fitted = trainer(random_records(500))
    history = fitted.fit([stage.model_copy(update={"epochs": 15}) for stage in STAGES], lambda _: None)
    for number in (1, 2):
        stage = [e.loss for e in history if e.stage == number]
        assert min(stage) < stage[0]
    assert fitted.loss(STAGES[1]) == min(e.loss for e in history if e.stage == 2)


@pytest.mark.pipeline
def test_training_is_the_same_to_the_bit_on_one_and_two_threads(sample):
    weights, starts = [], torch.from_numpy(sample.block_starts)
    for threads in (1, 2):
        fresh = blades.Blades(starts, Shape(blades=2, reduced=5), torch.Generator().manual_seed(3))
        fitted = training.Trainer(fresh, sample[:3000], torch.Generator().manual_seed(4), threads, CPU)
        fitted.fit([s.model_copy(update={"batch": 700, "epochs": 2}) for s in STAGES], lambda _: None)
        weights.append(fresh.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.parametrize("n", [1, 2, 9])
def test_fewer_records_than_a_batch_still_train(n):
    fitted = trainer(random_records(n))
    before = fitted.model.weight.detach().clone()
    history = fitted.fit([s.model_copy(update={"batch": 512}) for s in STAGES], lambda _: None)
    assert len(history) == 6
    assert not torch.equal(before, fitted.model.weight)


def test_divergence_is_an_error_with_its_stage():
    with pytest.raises(FloatingPointError, match=r"stage 1 \(mean_square\) diverged"):
        fitted = trainer(random_records(50))
        with torch.no_grad():
            fitted.model.bias.fill_(float("nan"))
        fitted.fit(STAGES, lambda _: None)


def test_saved_model_predicts_the_same_and_belongs_to_its_codebook(tmp_path):
    first = model(seed=5)
    first.save(tmp_path / "m.safetensors", CODEBOOK)
    again = blades.load(tmp_path / "m.safetensors", CODEBOOK)
    some = random_records(7)
    assert (first.predict(some) == again.predict(some)).all()
    assert (first.predict(some) == first(torch.from_numpy(some.one_hot)).detach().numpy()).all()
    with pytest.raises(InputError, match="other questions or categories"):
        blades.load(tmp_path / "m.safetensors", codebook_of(2, 3, 1, 5))


def test_the_same_weights_give_the_same_file(tmp_path):
    for number in range(10):
        model().save(tmp_path / f"{number}.safetensors", CODEBOOK)
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1


def test_asking_for_a_gpu_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InputError, match="finds no GPU"):
        devices.device("cuda")
    with pytest.raises(InputError, match="finds no GPU"):
        devices.gpu("cuda:1")
    assert devices.device("auto") == CPU
    assert devices.gpu("auto") is None


def test_a_cpu_of_any_number_is_no_gpu_and_torch_is_not_loaded_to_know():
    program = (
        "import sys; from modp.base import devices; "
        "print([devices.gpu(name) for name in ('cpu', 'cpu:0', 'cpu:1')], 'torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[None, None, None] False"


def test_rarity_weights_are_the_notebooks():
    counts = torch.tensor([90.0, 6.0, 0.0])
    slow = np.array([1 / np.sqrt(100), 10 / np.sqrt(16), 1 / np.sqrt(10)])
    found = losses.rarity_weights(counts, [1])
    assert np.allclose(found.numpy(), slow / slow.mean())
    errors = torch.tensor([[1.0, 2.0, 0.0]])
    weighted = losses.mean_square(errors, torch.zeros(1, 3), found)
    assert np.isclose(float(weighted), (found[0] + 4 * found[1]) / 3)


def test_cross_entropy_equals_the_slow_reference():
    rng = np.random.default_rng(2)
    codes = random_records(20).codes
    predictions = rng.random((20, STARTS[-1]))
    slow = 0.0
    for row, answers in zip(predictions, codes, strict=True):
        for q, answer in enumerate(answers):
            block = row[STARTS[q] : STARTS[q + 1]]
            slow -= np.log(block[answer] / block.sum())
    blocks = blades.question_blocks(torch.from_numpy(STARTS)).double()
    records_ = torch.from_numpy(records.one_hot(codes, STARTS)).double()
    found = losses.cross_entropy(torch.from_numpy(predictions), records_, blocks)
    assert np.isclose(float(found), slow / codes.size, rtol=1e-12)


def test_z_loss_takes_its_floor_and_pseudocount():
    true, predicted = torch.full((2, 2), 5.0).double(), torch.full((2, 2), 8.0).double()
    p, q = 5.5 / 10, 8.5 / 10
    pooled = (p + q) / 2
    expected = (p - q) ** 2 / (pooled * (1 - pooled) * 2 / 10 + 0.1)
    found = losses.z_loss(predicted, true, 10, torch.ones(2, 2).double(), 0.1, 0.5)
    assert np.isclose(float(found), expected)


def test_softmax_predictions_of_a_question_sum_to_one():
    softmax = shaped(Shape(blades=3, reduced=4, link="softmax"))
    predictions = softmax(binary_of(9))
    for start, stop in itertools.pairwise(STARTS):
        assert torch.allclose(predictions[:, start:stop].sum(1), torch.ones(9))


def test_a_third_layer_of_the_gate_has_a_second_rectifier():
    three = shaped(Shape(blades=3, reduced=4, gate_layers=3))
    binary = binary_of(9)
    first = torch.relu(binary @ three.gate_in.weight.T + three.gate_in.bias)
    second = torch.relu(first @ three.gate_middle.weight.T + three.gate_middle.bias)
    expected = torch.softmax(second @ three.gate_out.weight.T + three.gate_out.bias, dim=1)
    assert torch.allclose(three.gate(binary), expected)
    assert "gate_middle.weight" not in shaped(Shape(blades=3, reduced=4)).state_dict()


EVERY_LOSS = [
    Stage(loss="weighted_mean_square", epochs=2, learning_rate=0.02, batch=64, specials=["A=2", "D=4"]),
    Stage(loss="cross_entropy", epochs=2, learning_rate=0.02, batch=64, schedule="constant"),
    Stage(loss="z", epochs=3, learning_rate=0.01, batch=64),
]


@pytest.mark.pipeline
def test_training_goes_on_from_any_epoch_to_the_same_end(tmp_path):
    some = random_records(300)
    whole = trainer(some, threads=2)
    states = []
    history = whole.fit(EVERY_LOSS, lambda _: None, keep=states.append)
    assert len(states) == 7
    for number, state in enumerate(states):
        training.save_state(tmp_path / f"{number}.safetensors", "this", state)
        found = training.load_state(tmp_path / f"{number}.safetensors", "this")
        resumed = trainer(some, threads=2, seed=77)
        with torch.no_grad():
            resumed.model.weight.zero_()
        assert resumed.fit(EVERY_LOSS, lambda _: None, start=found) == history
        for name, value in whole.weights().items():
            assert torch.equal(value, resumed.weights()[name]), (number, name)


def test_a_checkpoint_of_another_training_or_a_broken_one_is_left_alone(tmp_path):
    file = tmp_path / "c.safetensors"
    assert training.load_state(file, "this") is None
    training.save_state(file, "this", training.State({"a": torch.ones(2)}, {"stage": 1}))
    assert training.load_state(file, "this") is not None
    assert training.load_state(file, "that") is None
    file.write_bytes(file.read_bytes()[:30])
    assert training.load_state(file, "this") is None


def test_patience_ends_a_stage_that_no_longer_improves():
    stage = Stage(
        loss="mean_square", epochs=500, learning_rate=2.0, schedule="constant", batch=64, patience=3
    )
    history = trainer(random_records(100)).fit([stage], lambda _: None)
    best = int(np.argmin([e.loss for e in history]))
    assert len(history) == best + 1 + 3 < 500


def test_a_time_limit_ends_a_stage():
    stage = Stage(loss="mean_square", epochs=100_000, learning_rate=0.01, minutes=0.005)
    assert 1 <= len(trainer(random_records(100)).fit([stage], lambda _: None)) < 100_000


def test_the_learning_rate_falls_along_a_half_cosine():
    stage = Stage(loss="mean_square", epochs=4, learning_rate=0.1, batch=100)
    history = trainer(random_records(100)).fit([stage], lambda _: None)
    expected = [0.1 * (1 + np.cos(np.pi * e / 4)) / 2 for e in range(4)]
    assert np.allclose([e.learning_rate for e in history], expected)


def test_a_special_that_there_is_not_is_named():
    stage = Stage(loss="weighted_mean_square", epochs=1, learning_rate=0.1, specials=["A=9"])
    with pytest.raises(InputError, match=r"no category is called 'A=9'; did you mean 'A="):
        trainer(random_records(50)).fit([stage], lambda _: None)


@pytest.mark.parametrize("name", ["model_1_1", "model_3_10", "model_5_15"])
def test_published_weights_give_the_same_probabilities(sample, name):
    path = shared("data", "author_models", f"{name}.sav")
    codebook = sample.codebook
    converted = published.convert(path, codebook)
    with torch.serialization.safe_globals(published.ALLOWED):
        content = torch.load(path, map_location="cpu", weights_only=True)
    weights = {k: v.double() for k, v in content["model_state_dict"].items()}
    rng = np.random.default_rng(3)
    codes = codes_of(codebook.sizes, 50, rng)
    binary = torch.from_numpy(records.one_hot(codes, codebook.block_starts)).double()
    gate = "weight_calculator"
    hidden = torch.relu(binary @ weights[f"{gate}.fc1.weight"].T + weights[f"{gate}.fc1.bias"])
    shares = torch.softmax(hidden @ weights[f"{gate}.fc2.weight"].T + weights[f"{gate}.fc2.bias"], dim=1)
    expected = sum(
        shares[:, [b]] * torch.sigmoid(binary @ weights[f"blades.{b}.weight"] + weights[f"blades.{b}.bias"])
        for b in range(shares.shape[1])
    )
    found = converted.double()(binary).detach()
    assert float((found - expected).abs().max()) < 1e-6


def test_an_archive_that_would_run_code_is_refused(tmp_path, sample):
    class Evil:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"model_state_dict": Evil()}, tmp_path / "evil.sav")
    with pytest.raises(InputError, match="no archive of weights alone"):
        published.convert(tmp_path / "evil.sav", sample.codebook)
    assert not (tmp_path / "ran").exists()
    torch.save({"weights": torch.ones(1)}, tmp_path / "other.sav")
    with pytest.raises(InputError, match="lacks 'model_state_dict'"):
        published.convert(tmp_path / "other.sav", sample.codebook)


def test_published_weights_of_other_questions_are_refused():
    path = shared("data", "author_models", "model_1_1.sav")
    with pytest.raises(InputError, match="38 questions and 233 categories, the codebook of 4 and 10"):
        published.convert(path, CODEBOOK)


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
@pytest.mark.parametrize("number", [1, 3])
def test_one_questions_predictions_are_those_of_the_whole(number, link):
    some = shaped(Shape(blades=number, reduced=4, link=link))
    binary = binary_of(9)
    whole = some(binary)
    for start, stop in itertools.pairwise(STARTS):
        assert torch.allclose(some.question(binary, start, stop), whole[:, start:stop], atol=1e-6)


def fit_options(folder: Path, some: Records, restarts: int) -> list[str]:
    some.write(folder / "records.parquet")
    (folder / "codebook.json").write_text(some.codebook.to_json())
    stages = [
        {"loss": "mean_square", "epochs": 2, "learning_rate": 0.01, "batch": 128},
        {"loss": "z", "epochs": 3, "learning_rate": 0.003, "batch": 128},
    ]
    recipe = {"family": "blades", "blades": 2, "reduced": 3, "restarts": restarts, "stages": stages}
    options = {
        "--records": folder / "records.parquet",
        "--codebook": folder / "codebook.json",
        "--name": "model_2_3",
        "--model": json.dumps(recipe),
        "--seed": 5,
        "--device": "cpu",
        "--weights": folder / "m/model.safetensors",
        "--history": folder / "m/history.parquet",
        "--plot": folder / "m/plot.csv",
        "--log": folder / "log.txt",
    }
    return ["fit", *(str(part) for pair in options.items() for part in pair)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, sample) -> Path:
    """The folder of a training from two seeds that nobody killed."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(fit_options(folder, sample[:400], 2)) == 0
    return folder


@pytest.mark.pipeline
@pytest.mark.parametrize("after", [1, 4, 6, 8])
def test_a_killed_training_goes_on_to_the_same_end(whole, tmp_path, sample, monkeypatch, after):
    monkeypatch.setattr(fitting, "CHECKPOINT_S", 0.0)
    options, seen = fit_options(tmp_path, sample[:400], 2), []

    def killed(self, epoch):
        seen.append(epoch)
        if len(seen) > after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fitting._Progress, "__call__", killed)
        main(options)
    assert (tmp_path / "m/.checkpoint.safetensors").exists()
    assert not (tmp_path / "m/model.safetensors").exists()
    assert main(options) == 0
    assert "going on from epoch" in (tmp_path / "log.txt").read_text()
    for file in ("m/model.safetensors", "m/history.parquet", "m/plot.csv"):
        assert (whole / file).read_bytes() == (tmp_path / file).read_bytes()
    assert not (tmp_path / "m/.checkpoint.safetensors").exists()


@pytest.mark.pipeline
def test_the_log_tells_of_every_epoch_of_every_seed_with_its_time(whole):
    line = r"^model_2_3: stage \d/2 \w+, loss .*, after [\d.]+ s$"
    assert len(re.findall(line, (whole / "log.txt").read_text(), re.MULTILINE)) == 10


@pytest.mark.pipeline
def test_the_seed_with_the_lowest_last_loss_is_kept(tmp_path, sample, monkeypatch):
    """Not the first seed, nor the last: the second of these three ends lowest."""
    tried, fit = [], training.Trainer.fit

    def noting(self, *rest):
        history = fit(self, *rest)
        tried.append((min(e.loss for e in history if e.stage == 2), history, self.weights()))
        return history

    monkeypatch.setattr(training.Trainer, "fit", noting)
    assert main(fit_options(tmp_path, sample[1600:2000], 3)) == 0
    losses = [loss for loss, _, _ in tried]
    assert len(losses) == 3 and min(losses) == losses[1] < min(losses[0], losses[2])
    _, history, weights = tried[1]
    kept = pd.read_parquet(tmp_path / "m/history.parquet")
    assert kept.to_dict("records") == [vars(epoch) for epoch in history]
    model = blades.load(tmp_path / "m/model.safetensors", sample.codebook)
    for name, value in weights.items():
        assert torch.equal(model.state_dict()[name], value)
