import numpy as np
import pytest
import torch
from conftest import codebook_of
from hypothesis import given, settings
from hypothesis import strategies as st

from modp import losses, records, train
from modp.errors import InputError
from modp.models import blades
from modp.params import Stage

SIZES = (2, 3, 1, 4)
CODEBOOK = codebook_of(*SIZES)
STARTS = CODEBOOK.block_starts
CPU = torch.device("cpu")


def model(number: int = 3, seed: int = 0) -> blades.Blades:
    return blades.Blades(torch.from_numpy(STARTS), number, 4, torch.Generator().manual_seed(seed))


def random_codes(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    other = [(first + rng.integers(0, s, n) * rng.integers(0, 2, n)) % s for s in SIZES[1:]]
    return np.column_stack([first, *other]).astype(np.int16)


def trainer(codes: np.ndarray, threads: int = 1, number: int = 3) -> train.Trainer:
    return train.Trainer(model(number), codes, STARTS, torch.Generator().manual_seed(1), threads, CPU)


STAGES = [
    Stage(loss="mean_square", epochs=3, learning_rate=0.02, batch=64),
    Stage(loss="z", epochs=3, learning_rate=0.01, batch=64),
]


@settings(deadline=None)
@given(st.integers(0, 2**31), st.data())
def test_no_blade_predicts_a_question_from_itself(seed, data):
    """Minus-one: a question's own answer never reaches its own prediction by any blade."""
    scrambled = model()
    with torch.no_grad():
        scrambled.weight.normal_(generator=torch.Generator().manual_seed(seed))
    codes = random_codes(5, seed)
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
    codes = random_codes(5)
    changed = codes.copy()
    changed[:, 0] = 1 - changed[:, 0]
    binary = [torch.from_numpy(records.one_hot(c, STARTS)) for c in (codes, changed)]
    before, after = (model().blade_outputs(b)[:, :, 2:] for b in binary)
    assert not torch.allclose(before, after)


def test_diagonal_blocks_stay_zero_through_training():
    fitted = trainer(random_codes(200))
    fitted.fit(STAGES, lambda _: None)
    within = 1 - blades.between_questions(torch.from_numpy(STARTS))
    weight = fitted.model.weight.detach()
    assert weight.abs().sum() > 0
    assert (weight * within[:, None, :]).abs().sum() == 0


def test_forward_equals_the_papers_formula_in_float64():
    three = model().double()
    binary = torch.from_numpy(records.one_hot(random_codes(6), STARTS)).double()
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
    predictions, binary = rng.random((5, 10)), records.one_hot(random_codes(5), STARTS)
    expected = sum((p - r) ** 2 for p, r in zip(predictions.flat, binary.flat, strict=True)) / 50
    found = losses.mean_square(torch.from_numpy(predictions), torch.from_numpy(binary))
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_z_loss_equals_the_papers_listing_cell_by_cell():
    rng = np.random.default_rng(0)
    n, output, target = 50, rng.random((50, 10)), records.one_hot(random_codes(50), STARTS).astype(float)
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
    fitted = trainer(random_codes(120))
    found = train._ZGradient(fitted)(torch.arange(120))
    predictions = fitted.model(fitted.records(torch.arange(120)))
    loss = losses.z_loss(predictions.T @ predictions, fitted.true.float(), 120, fitted.between)
    for one, other in zip(found, fitted.gradients(loss), strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-5 * float(other.abs().max() + 1e-9))


def test_training_lowers_each_loss_and_keeps_the_best_weights():
    fitted = trainer(random_codes(500))
    history = fitted.fit([stage.model_copy(update={"epochs": 15}) for stage in STAGES], lambda _: None)
    for number in (1, 2):
        stage = [e.loss for e in history if e.stage == number]
        assert min(stage) < stage[0]
    assert fitted._loss("z") == min(e.loss for e in history if e.stage == 2)


def test_training_is_the_same_to_the_bit_on_one_and_two_threads(sample):
    codes, codebook = sample
    weights = []
    for threads in (1, 2):
        fresh = blades.Blades(torch.from_numpy(codebook.block_starts), 2, 5, torch.Generator().manual_seed(3))
        fitting = train.Trainer(
            fresh, codes[:3000], codebook.block_starts, torch.Generator().manual_seed(4), threads, CPU
        )
        fitting.fit([s.model_copy(update={"batch": 700, "epochs": 2}) for s in STAGES], lambda _: None)
        weights.append(fresh.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.parametrize("n", [1, 2, 9])
def test_fewer_records_than_a_batch_still_train(n):
    fitted = trainer(random_codes(n))
    before = fitted.model.weight.detach().clone()
    history = fitted.fit([s.model_copy(update={"batch": 512}) for s in STAGES], lambda _: None)
    assert len(history) == 6
    assert not torch.equal(before, fitted.model.weight)


def test_divergence_is_an_error_with_its_stage():
    with pytest.raises(FloatingPointError, match=r"stage 1 \(mean_square\) diverged"):
        fitted = trainer(random_codes(50))
        with torch.no_grad():
            fitted.model.bias.fill_(float("nan"))
        fitted.fit(STAGES, lambda _: None)


def test_saved_model_predicts_the_same_and_belongs_to_its_codebook(tmp_path):
    first = model(seed=5)
    blades.save(tmp_path / "m.safetensors", first, CODEBOOK.digest)
    again = blades.load(tmp_path / "m.safetensors", CODEBOOK)
    binary = records.one_hot(random_codes(7), STARTS)
    assert (blades.predict(first, binary, CPU) == blades.predict(again, binary, CPU)).all()
    with pytest.raises(InputError, match="other questions or categories"):
        blades.load(tmp_path / "m.safetensors", codebook_of(2, 3, 1, 5))


def test_the_same_weights_give_the_same_file(tmp_path):
    for number in range(10):
        blades.save(tmp_path / f"{number}.safetensors", model(), CODEBOOK.digest)
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1


def test_asking_for_a_gpu_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(InputError, match="finds no GPU"):
        blades.device("cuda")
    assert blades.device("auto") == CPU
