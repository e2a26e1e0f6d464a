import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, codebook_of, records_of

from modp.base.config import load
from modp.measures.accuracy import Summary, cell_sets
from modp.measures.table import NOTEBOOK, measures_of
from modp.pipeline.params import Params
from modp.summaries import accuracy, answers, attacks, privacy
from modp.summaries.headline import headline
from modp.summaries.metrics import metrics
from modp.summaries.printed import Printed

NEAR = {
    "population_median": (1.1, 0.3),
    "population_mean_abs": (1.234, 0.04),
    "population_rms": (1.5, 0.2),
}


def row(model: str, variant: str, *log_ratios: float) -> accuracy.Row:
    counted = {"records": 100, "zero_records": 3, "entropy_bits": 12.5 if variant else None}
    three_way = Summary(5, {"median": 0.2, "mean_abs": 0.3, "rms": 0.4})
    near = {"all": NEAR | {"population_rms": (1.5, np.nan)}, "between": NEAR} if variant else {}
    return accuracy.Row(model, variant, np.array(log_ratios), counted, three_way, near)


ROWS = [row("bootstrap", "", 0.1, -0.1, 0.2), row("model_5_15", "plain", 0.2, -0.4, 0.0)]
ATTACKED = pd.DataFrame(
    [
        ("closer_to_train", "", 0.51, 0.49, 0.53),
        ("distance_auc", "", np.nan, np.nan, np.nan),
        ("attribute_leak", "PINCP", 0.02, -0.01, 0.05),
    ],
    columns=["measure", "question", "value", "low", "high"],
)
CELLS = {"all": np.ones(3, bool), "between": np.array([True, True, False])}


def test_the_papers_numbers_stand_beside_the_same_row_over_all_cells_only():
    published = {
        "bootstrap": {"mean_abs": 0.058, "rms": 0.139, "median": 0.012, "within_10": 0.9},
        "model_5_15/plain": {"median": 0.046, "mean_abs": 0.164, "rms": 0.382},
    }
    table = accuracy.with_published(accuracy.accuracy_table(ROWS, CELLS), published)
    assert table["published_mean_abs"].tolist()[:2] == [0.058, 0.164]
    assert table["published_median"].isna().tolist() == [False, False, True, True]
    whole, between = accuracy.printed_accuracy(table)
    assert whole.headers[-3:] == ["paper: median", "mean", "r.m.s."]
    assert whole.rows[1][-3:] == ["0.046", "0.164", "0.382"]
    assert "paper: median" not in between.headers


def test_other_data_has_no_column_of_the_papers():
    table = accuracy.with_published(accuracy.accuracy_table(ROWS, CELLS), {})
    assert all("paper: median" not in part.headers for part in accuracy.printed_accuracy(table))


def test_every_published_row_is_one_that_the_default_parameters_make():
    published = yaml.safe_load((ROOT / "workflow/published/accuracy.yaml").read_text())
    made = load(ROOT / "params.yaml", Params).names
    keys = {measure.key for measure in measures_of()}
    for rows in published.values():
        assert set(rows) <= set(made) and all(set(numbers) <= keys for numbers in rows.values())


def test_how_near_to_the_people_held_out_is_in_the_table_the_metrics_and_the_headline():
    table, three_way = accuracy.accuracy_table(ROWS, CELLS), accuracy.three_way_table(ROWS)
    assert table["population_median"].tolist()[1::2] == [1.1, 1.1]
    assert table["population_median"].isna().tolist() == [True, False, True, False], "nothing was held out"
    whole, _ = accuracy.printed_accuracy(table)
    at = whole.headers.index("population")
    assert [line[at] for line in whole.rows] == ["", "1.23 ± 0.04"]
    assert whole.headers.count("population") == 1 and "" not in whole.headers
    assert any("1.00 there only says" in note for note in accuracy.accuracy_notes("sample"))
    none = pd.DataFrame(columns=["model", "variant", "measure"])
    found = metrics(table, three_way, none, none)
    plain = found["accuracy"]["model_5_15"]["plain"]
    assert (plain["population_mean_abs"], plain["population_mean_abs_error"]) == (1.234, 0.04)
    assert (plain["population_rms"], plain["population_rms_error"]) == (1.5, None)
    assert plain["population_rms_between_error"] == 0.2
    assert found["accuracy"]["bootstrap"]["population_median"] is None
    title, first, second, meaning = headline(found)
    assert title.endswith("population") and meaning.startswith("population: ")
    assert first.split()[-1] == "n/a" and second.endswith("1.23 ± 0.04")


def test_answers_by_blade_are_percents_of_the_records_that_a_blade_takes():
    codes = np.array([[0, 1], [0, 0], [1, 1], [1, 1]], np.int16)
    gates = np.array([[0.9, 0.1, 0], [0.8, 0.2, 0], [0.1, 0.9, 0], [0.6, 0.4, 0]])
    records = records_of(codes, (2, 2))
    table = answers.answers_by_blade(records, gates, ["B", "ELSEWHERE"])
    assert table["records"].tolist() == [3, 3, 1, 1, 0, 0]
    assert np.allclose(table["percent"][:4], [100 / 3, 200 / 3, 0, 100])
    assert table["percent"][4:].isna().all()
    (part,) = answers.printed_answers(table, "model_3_10")
    assert part.headers == ["blade", "records", "1", "2"]
    assert part.rows == [["1", "3", "33", "67"], ["2", "1", "0", "100"]]
    assert answers.printed_answers(answers.answers_by_blade(records, gates, []), "m") == []


def test_latex_escapes_what_it_would_misread():
    text = Printed("50% of A_B & C", ["×", "b"], [["$1–$2", "x~y"]], 1).latex()
    assert r"\caption{50\% of A\_B \& C}" in text
    assert r"\$1--\$2 & x\textasciitilde{}y \\" in text and r"$\times$ & b \\" in text
    assert text.count(r"\begin{tabular}{@{}lr@{}}") == 1


def test_markdown_aligns_numbers_right():
    text = Printed("c", ["a", "b"], [["x", "1"]], 1).markdown()
    assert text == "## c\n\n| a | b |\n| --- | --: |\n| x | 1 |\n"


def test_privacy_of_rows_by_hand():
    found = pd.DataFrame(
        {
            "entropy_bits": [1.0, 3.0, 2.0],
            "multiplicity": [1, 1, 10],
            "causal_rank": pd.array([1, 11, None], "Int64"),
            "causal_rank_backwards": pd.array([9, 10, None], "Int64"),
        }
    )
    table = privacy.privacy_table({"model_5_15/plain": found})
    line = table.to_dict("records")[0]
    assert (line["entropy_bits"], line["ranked"], line["nearest"], line["within_10"]) == (2, 2, 0.5, 0.5)
    assert (line["median_rank"], line["within_10_backwards"]) == (6, 1)
    assert line["log10_effective_multiplicity"] == pytest.approx(3 * np.log10(2))
    shown = privacy.printed_privacy(table).rows[0]
    assert shown[:4] == ["model_5_15", "plain", "2.0", "10^0.9"] and shown[4] == "50.00 ± 35.36 %"
    attacked = attacks.attacks_table({"bootstrap": ATTACKED, "model_5_15/plain": ATTACKED})
    accurate, three_way = accuracy.accuracy_table(ROWS, CELLS), accuracy.three_way_table(ROWS)
    found = metrics(accurate, three_way, table, attacked)
    assert found["privacy"]["model_5_15"]["plain"]["within_10"] == 0.5
    assert found["privacy"]["model_5_15"]["plain"]["closer_to_train"] == 0.51
    assert found["privacy"]["bootstrap"]["attribute_leak_PINCP_low"] == -0.01
    assert found["privacy"]["bootstrap"]["membership_auc"] is None
    assert found["accuracy"]["model_5_15"]["plain"]["ratio_median_three_way"] == 1
    assert found["accuracy"]["bootstrap"]["median"] == 0.1 and "paper_notebook" not in found


def test_privacy_without_records_is_blank():
    names = ["entropy_bits", "multiplicity", "causal_rank", "causal_rank_backwards"]
    none = pd.DataFrame({name: [] for name in names})
    shown = privacy.printed_privacy(privacy.privacy_table({"m/v": none})).rows[0]
    assert shown == ["m", "v", "", "", "", "", "", ""]


def test_attacks_are_printed_with_their_bounds_and_blank_where_there_are_none():
    table = attacks.attacks_table({"bootstrap": ATTACKED, "m/v": ATTACKED})
    copies, membership, exposed, guesses = attacks.printed_attacks(table)
    assert copies.headers[5] == "closer to train" and copies.rows[1][:2] == ["m", "v"]
    assert copies.rows[0][5] == "51.00 % (49.00–53.00)" and copies.rows[0][2] == ""
    assert membership.rows[0] == ["bootstrap", *[""] * 7]
    assert exposed.headers[2:] == ["distance", "density", "likelihood"]
    assert guesses.caption == "Guesses of PINCP" and guesses.rows[1][4] == "2.00 % (−1.00–5.00)"


def test_anonymeters_risks_stand_in_the_lines_of_the_other_attacks():
    risks = {
        name: {"risk": 0.1 * k, "low": 0.0, "high": 0.3}
        for k, name in enumerate(("singling_out", "linkability", "inference"))
    }
    table = attacks.anonymeter_table({"m/v": risks | {"secret": "JOB", "attacks": 5}})
    assert table.iloc[1].tolist() == ["m", "v", "linkability", "", 0.1, 0.0, 0.3]
    shown = attacks.printed_anonymeter(table)
    assert shown.headers == ["model", "variant", "singling out", "linkability", "inference"]
    assert shown.rows[0][:2] == ["m", "v"] and shown.rows[0][3].startswith("10")


def test_numbers_of_the_notebook_are_said_to_be_such():
    some = cell_sets(codebook_of(2).block_starts, paper_notebook=True)
    table = accuracy.accuracy_table(ROWS, some, paper_notebook=True)
    # 0.2, -0.4, -0.4, 0: mean -0.15, squares of deviations 0.1225, 0.0625, 0.0625, 0.0225
    assert table["rms"][1] == pytest.approx(np.sqrt(0.27 / 4)) and table["n_cells"][1] == 4
    whole, _ = accuracy.printed_accuracy(table, paper_notebook=True)
    assert "notebook" in whole.caption and NOTEBOOK in accuracy.accuracy_notes("sample", True)
    assert "though paper_notebook is on" in accuracy.three_way_notes(True)[1]
    none = pd.DataFrame(columns=["model", "variant", "measure"])
    found = metrics(table, accuracy.three_way_table(ROWS), none, none, paper_notebook=True)
    assert found["paper_notebook"] is True and headline(found)[-1] == NOTEBOOK
