"""Repeats with other seeds: means and standard errors, by hand."""

import math

from modp.summaries import repeats


def test_leaves_go_by_dotted_names_and_items_of_lists_by_their_own():
    tree = {
        "seed": 1,
        "models": {"m": {"stages": [{"epochs": 3}]}},
        "variants": [{"model": "m", "name": "p"}],
    }
    assert repeats.flat(tree) == {
        "seed": 1,
        "models.m.stages.0.epochs": 3,
        "variants.m/p.model": "m",
        "variants.m/p.name": "p",
    }


def test_means_and_standard_errors_are_those_worked_out_by_hand():
    runs = [{"a": {"x": v, "y": None}, "b": 1} for v in (1.0, 2.0, 6.0)]
    found = repeats.spreads(repeats.gathered(runs))
    assert found["a.x"].runs == 3 and found["a.x"].mean == 3.0
    # deviations -2, -1, 3: variance 7, standard error sqrt(7 / 3)
    assert math.isclose(found["a.x"].error, math.sqrt(7 / 3))
    assert found["b"].error == 0
    assert found["a.y"].runs == 0 and math.isnan(found["a.y"].mean)


def test_one_run_has_no_standard_error():
    (line,) = repeats.spreads(repeats.gathered([{"x": 2.0}])).values()
    assert line.mean == 2.0 and math.isnan(line.error)


def test_printed_tables_have_a_line_a_row_and_the_measures_that_there_are():
    runs = [
        {
            "accuracy": {"m": {"v": {"ratio_median": r, "records": 3}}},
            "privacy": {"m": {"v": {"within_10": r / 10}}},
        }
        for r in (1.0, 3.0)
    ]
    accuracy, privacy = repeats.printed(repeats.gathered(runs))
    assert accuracy.headers == ["row", "median ×"] and accuracy.rows == [["m/v", "2 ± 1"]]
    assert privacy.rows == [["m/v", "0.2 ± 0.1"]]
