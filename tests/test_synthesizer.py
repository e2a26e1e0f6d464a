import numpy as np
import pandas as pd
import pytest

from modp import Synthesizer
from modp.base.errors import InputError
from modp.survey.questions import QuestionSet

pytestmark = pytest.mark.pipeline  # they run whole steps


def people(rows: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    age = rng.integers(18, 90, rows)
    retired = (age > 65) & (rng.random(rows) < 0.95)
    wage = np.where(retired, 0, (rng.lognormal(10, 0.7, rows) // 100 * 100).astype(int))
    return pd.DataFrame(
        {
            "key": [f"K{k:05d}" for k in range(rows)],
            "age": age,
            "wage": wage,
            "hours": np.where(retired, np.nan, rng.integers(1, 80, rows) / 2),
            "retired": retired,
            "size": pd.Categorical(rng.choice(["small", "large"], rows), ["small", "large"], ordered=True),
            "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, rows), unit="D"),
            "children": pd.array(np.where(rng.random(rows) < 0.1, None, rng.integers(0, 4, rows)), "Int64"),
        }
    )


@pytest.fixture(scope="module")
def fitted() -> tuple[pd.DataFrame, Synthesizer]:
    true = people()
    return true, Synthesizer(seed=3).fit(true)


def test_samples_have_the_columns_and_dtypes_of_the_frame(fitted):
    true, synthesizer = fitted
    synthetic = synthesizer.sample(700, seed=1)
    assert len(synthetic) == 700
    assert synthetic.dtypes.equals(true.dtypes)
    assert len(synthesizer.sample(seed=1)) == len(true)


def test_samples_say_what_the_frame_says(fitted):
    true, synthesizer = fitted
    synthetic = synthesizer.sample(3000, seed=1)
    assert abs(synthetic["age"].mean() - true["age"].mean()) < 1.5
    assert abs((synthetic["wage"] == 0).mean() - (true["wage"] == 0).mean()) < 0.03
    assert (synthetic["hours"].isna() == synthetic["retired"]).mean() > 0.98
    assert (synthetic.loc[~synthetic["retired"], "wage"] > 0).mean() > 0.98
    assert synthetic.loc[synthetic["retired"], "age"].min() > 55
    assert synthetic["since"].between("2014-12-31", "2023-04-01").all()


def test_no_key_and_no_rare_number_comes_back(fitted):
    true, synthesizer = fitted
    synthetic = synthesizer.sample(3000, seed=5)
    assert not set(synthetic["key"]) & set(true["key"])
    assert synthetic["wage"].max() < true["wage"].max()
    assert synthetic["since"].max() < true["since"].max()


def test_the_seed_makes_the_sample(fitted):
    _, synthesizer = fitted
    assert synthesizer.sample(200, seed=1).equals(synthesizer.sample(200, seed=1))
    assert not synthesizer.sample(200, seed=1).equals(synthesizer.sample(200, seed=2))


def test_a_loaded_one_draws_the_same(fitted, tmp_path):
    _, synthesizer = fitted
    synthesizer.save(tmp_path / "s.safetensors")
    again = Synthesizer.load(tmp_path / "s.safetensors")
    pd.testing.assert_frame_equal(again.sample(300, seed=4), synthesizer.sample(300, seed=4))


def test_columns_of_any_names_are_saved(tmp_path):
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 3)))
    frame.columns = pd.Index(["a", "a", 7])
    frame.isetitem(1, frame.iloc[:, 1].map(["x", "y", "z"].__getitem__).astype("category"))
    made = Synthesizer().fit(frame)
    made.save(tmp_path / "s")
    again = Synthesizer.load(tmp_path / "s").sample(20)
    assert again.columns.tolist() == ["a", "a", 7] and again.dtypes.tolist() == frame.dtypes.tolist()
    frame.columns = pd.Index(["a", "b", 7.5])
    with pytest.raises(InputError, match=r"7\.5 names a column"):
        Synthesizer().fit(frame).save(tmp_path / "t")
    with pytest.raises(InputError, match="data frame is wanted, not a list"):
        Synthesizer().fit([1, 2])


def test_its_file_holds_no_rare_answer(fitted, tmp_path):
    true, synthesizer = fitted
    synthesizer.save(tmp_path / "s.safetensors")
    content = (tmp_path / "s.safetensors").read_bytes()
    assert b"K00007" not in content
    assert f'"{true["wage"].max()}"'.encode() not in content


def test_what_is_no_file_of_its_own_is_refused(tmp_path):
    path = tmp_path / "s.safetensors"
    with pytest.raises(InputError, match="no such file"):
        Synthesizer.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="or is damaged"):
        Synthesizer.load(path)


def test_it_follows_the_conventions_of_estimators():
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(Synthesizer(seed=9, threads=1))
    assert copy.get_params() == {"questions": None, "seed": 9, "threads": 1}
    assert copy.set_params(seed=2).seed == 2
    with pytest.raises(ValueError, match="no parameter sede"):
        copy.set_params(sede=1)
    with pytest.raises(InputError, match="call fit"):
        copy.sample(3)


def test_a_question_set_may_be_given():
    true = people(400)[["age", "retired"]]
    questions = {
        "name": "two",
        "title": "Two",
        "questions": [
            {"name": "OLD", "label": "Old", "column": "age", "numbers": {"cuts": [50]}},
            {"name": "RETIRED", "label": "Retired", "column": "retired"}
            | {"categories": {"False": "no", "True": "yes"}},
        ],
    }
    synthesizer = Synthesizer(QuestionSet.model_validate(questions)).fit(true)
    assert synthesizer.codebook_.sizes.tolist() == [2, 2]
    assert synthesizer.sample(100).dtypes.equals(true.dtypes)
