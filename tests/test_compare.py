"""Two runs compared: what differs, by how much, and whether that is more than noise."""

import json

import pytest

from modp import __main__ as modp
from modp.report import compared
from modp.summaries import comparison
from modp.summaries.comparison import Change
from modp.summaries.repeats import Spread


def test_an_item_added_before_others_does_not_make_these_differ():
    one = {"variants": [{"model": "m", "name": "a", "k": 1}]}
    other = {"variants": [{"model": "m", "name": "b", "k": 2}, {"model": "m", "name": "a", "k": 1}]}
    assert [name for name, *_ in comparison.differing(one, other)] == [
        "variants.m/b.model",
        "variants.m/b.name",
        "variants.m/b.k",
    ]


def test_differing_parameters_name_both_values_and_what_is_missing():
    assert comparison.differing({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5, "d": 4}) == [
        ("b", 2, 5),
        ("c", 3, None),
        ("d", None, 4),
    ]


@pytest.mark.parametrize(
    ("noise", "beyond"),
    [(None, None), (0.05, True), (0.051, False), (0.0, True)],
)
def test_a_change_of_two_standard_errors_is_beyond_noise(noise, beyond):
    assert Change("m", 1.0, 1.1 + 1e-9, noise).beyond_noise is beyond


def test_no_change_is_never_beyond_noise():
    assert Change("m", 1.0, 1.0, 0.0).beyond_noise is False
    assert Change("m", None, 1.0, 0.1).beyond_noise is None


@pytest.mark.parametrize(
    ("metric", "before", "after", "noise", "better"),
    [
        ("accuracy.m.v.median", 0.5, 0.25, None, True),
        ("accuracy.m.v.ratio_rms", 1.0, 1.5, None, False),
        ("accuracy.m.v.median", 0.5, 0.49, 0.1, None),  # noise
        ("privacy.m.v.median_rank", 10, 20, 1.0, True),
        ("privacy.m.v.closer_to_train", 0.45, 0.53, None, True),  # nearer to a coin
        ("privacy.m.v.attribute_leak_JOB", 0.0, 0.1, None, False),
        ("privacy.m.v.attribute_leak_JOB_low", 0.0, 0.1, None, None),
        ("accuracy.m.v.records", 10, 20, None, None),
        ("accuracy.m.v.median", None, 0.5, None, None),
    ],
)
def test_a_change_is_for_the_better_or_the_worse_where_that_can_be_told(metric, before, after, noise, better):
    change = Change(metric, before, after, noise)
    assert change.better is better
    assert comparison.line(change)[4] == {None: "", True: "better", False: "worse"}[better]


def test_repeats_give_means_and_the_noise_of_their_difference():
    spread = {"x": Spread(5, 2.0, 0.3)}, {"x": Spread(5, 3.0, 0.4)}
    (change,) = comparison.changes({"x": 1.0}, {"x": 9.0}, *spread)
    assert (change.before, change.after) == (2.0, 3.0) and change.noise == pytest.approx(0.5)
    (single,) = comparison.changes({"x": 1.0}, {"x": 9.0}, spread[0], {"x": Spread(1, 3.0, float("nan"))})
    assert single == Change("x", 1.0, 9.0, None)


def test_text_lines_numbers_up_and_says_what_is_not_known():
    found = comparison.changes({"a": {"median": 0.5}}, {"a": {"median": 0.25}})
    shown = comparison.text("old", "new", [("seed", 1, 2)], found)
    assert shown == (
        "parameter  old  new\nseed         1    2\n\n"
        "metric    old   new  change\na.median  0.5  0.25   -0.25\n\n"
        "whether a change is more than noise is not known: run both with 'seeds: 3' or more"
    )


def test_the_page_shows_both_runs_figures_and_escapes_what_they_are_called():
    found = comparison.changes({"x": 1.0}, {"x": 2.0}, {"x": Spread(3, 1.0, 0.1)}, {"x": Spread(3, 2.0, 0.1)})
    page = compared.page("a<b", "c", [("seed", 1, None)], found, {"f": b"one"}, {"f": b"two", "g": b"three"})
    assert "a&lt;b" in page and "a<b" not in page
    assert page.count("data:image/png;base64,") == 3 and "a&lt;b: not drawn" in page
    assert '<tr class="beyond"><th>x</th>' in page and "<th>seed</th><td>1</td><td>–</td>" in page


def test_equal_runs_differ_in_nothing():
    assert comparison.text("a", "b", [], []).startswith("no parameter differs\n\nno metric differs")


def test_folders_are_compared_in_what_changed_unless_all_is_wanted(tmp_path, capsys):
    for name, value in (("a", 1.0), ("b", 2.0)):
        folder = tmp_path / name
        folder.mkdir()
        metrics = {"auc": value, "auc_low": value - 1, "rank": None, "same": 3}
        (folder / "metrics.json").write_text(json.dumps(metrics))
        (folder / "parameters.json").write_text(json.dumps({"seed": 1}))
    folders = [str(tmp_path / name) for name in ("a", "b")]

    def listed(*options: str) -> list[str]:
        assert modp.main(["compare", *folders, *options]) == 0
        lines = capsys.readouterr().out.split("\n\n")[1].splitlines()
        return [line.split()[0] for line in lines[1:]]

    assert listed() == ["auc"]
    assert listed("--all") == ["auc", "auc_low", "rank", "same"]
