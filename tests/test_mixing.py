import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import records_of

from modp.figures import mixing as figure
from modp.measures import mixing

START = records_of(np.array([[0, 0, 0], [0, 1, 0], [1, 2, 0], [1, 2, 0]], np.int16), (2, 3, 1))
LATER = np.array([[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 2, 0]], np.int16)


def test_trace_by_hand():
    traced = mixing.trace(START, [LATER, START.codes]).set_index(["question", "sweep"])
    assert traced.loc[("A", 1), "changed"] == 0.5
    assert traced.loc[("A", 1), "kept"] == pytest.approx((0.5 - 0.5) / 0.5)
    expected = (1 + 1 + 4) / 16
    assert traced.loc[("B", 1), "kept"] == pytest.approx((0.75 - expected) / (1 - expected))
    assert traced.loc[("B", 2), "kept"] == 1 and traced.loc[("B", 2), "changed"] == 0.25
    assert np.isnan(traced.loc[("C", 1), "kept"]), "everybody answers the same"


def test_rare_categories_are_followed_in_and_out():
    start = np.zeros((1000, 3), np.int16)
    start[:5, 0] = 1
    later = start.copy()
    later[:2, 0], later[10:13, 0] = 0, 1
    traced = mixing.trace(START.of(start), [later]).set_index("question")
    assert traced.loc["A", "rare_out"] == pytest.approx(2 / 5)
    assert traced.loc["A", "rare_in"] == pytest.approx(3 / 995)
    assert np.isnan(traced.loc["C", "rare_out"])


def test_summary_puts_the_slowest_question_first():
    traced = pd.DataFrame(
        {
            "question": ["A", "B", "A", "B"],
            "sweep": [1, 1, 2, 2],
            "changed": [0.2, 0.4, 0.4, 0.4],
            "kept": [0.5, 0.9, 0.05, 0.8],
            "rare_in": np.nan,
            "rare_out": np.nan,
        }
    )
    found = mixing.summary(traced)
    assert found["question"].tolist() == ["B", "A"]
    assert found["forgotten"].tolist()[1] == 2 and np.isnan(found["forgotten"][0])
    assert found["changed"].tolist() == pytest.approx([0.4, 0.3])


@pytest.mark.filterwarnings("error")
def test_figure_names_the_slowest_questions():
    traced = mixing.trace(START, [LATER, LATER])
    drawn = figure.draw(traced, "title")
    labels = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert labels[0].startswith("B: ") and len(labels) == 2
    plt.close("all")


def test_chains_of_people_who_all_answer_the_same_are_drawn():
    alone = START[:1]
    traced = mixing.trace(alone, [alone.codes])
    plt.close(figure.draw(traced, "of one record"))
