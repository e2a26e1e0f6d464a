import copy

import pytest
import yaml
from conftest import ROOT

from modp.base.config import check, load, read_yaml
from modp.base.errors import InputError
from modp.pipeline.params import Params

GOOD = yaml.safe_load((ROOT / "params.yaml").read_text())


def changed(path: str, value: object) -> dict:
    """The repository's parameters with one place changed (or removed, for None)."""
    params = copy.deepcopy(GOOD)
    *way, last = [int(p) if p.isdigit() else p for p in path.split("/")]
    place = params
    for part in way:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return params


def test_the_repositorys_parameters_are_valid():
    params = load(ROOT / "params.yaml", Params)
    assert params.dataset == "sample"
    assert params.names[:2] == ["bootstrap", "model_1_1/plain"]


@pytest.mark.parametrize(
    ("path", "value", "place", "message"),
    [
        ("sead", 1, "sead", "unknown key; did you mean 'seed'?"),
        ("models/model_5_15/blade", 5, "models.model_5_15.blade", "did you mean 'blades'?"),
        ("models/model_5_15/stages/0/epoch", 5, "models.model_5_15.stages.0.epoch", "did you mean 'epochs'?"),
        ("models/model_5_15/blades", -5, "models.model_5_15.blades", "greater than or equal to 1"),
        ("models/model_5_15/blades", "five", "models.model_5_15.blades", "found 'five'"),
        ("models/model_5_15/blades", None, "models.model_5_15.blades", "this key is missing"),
        ("models/model_5_15/stages/1/learning_rate", "1e-3", "stages.1.learning_rate", "write a number"),
        ("models/model_5_15/stages/1/loss", "zloss", "stages.1.loss", "'cross_entropy' or 'z'"),
        ("rows/3/model", "model_5_51", "rows.3 (model_5_51/zeros-removed)", "did you mean 'model_5_15'?"),
        ("rows/3/pass_through", 1.5, "rows.3.pass_through", "less than 1"),
        ("rows/3/threshold", 0.5, "rows.3", "'threshold'"),
        ("rows/5/instances", 7, "rows.5 (model_5_15/postprocessed)", "needs 7 instances"),
        ("rows/3/name", "plain", "model_5_15/plain", "listed twice"),
        ("rows/3/name", "../up", "rows.3.name", "pattern"),
        ("rows/3/sweep", 3, "rows.3.sweep", "unknown key; did you mean 'sweeps'?"),
        ("rows/3/sweeps", 3, "rows.3", "'remove_zeros' treat instances"),
        (
            "rows/11/pass_through",
            0.5,
            "rows.11.pass_through",
            "unknown key (known here: model, name, calibrate, size, sweeps",
        ),
        ("rows/11/sweeps", None, "rows.11.sweeps", "this key is missing"),
        ("rows/15/sweeps", 3, "rows.15.sweeps", "unknown key"),
        ("rows/12/model", "stationary_dp", "rows.12.sweeps", "unknown key"),
        ("rows", [], "rows", "at least one"),
        ("rows/3/model", None, "rows.3", "does not say of which model"),
        ("rows/3", "model_5_15/plain", "rows.3", "does not say of which model"),
        ("models/gates", GOOD["models"]["model_1_1"], "models", "cannot be called 'gates'"),
        ("grids/epsilons", [-1.0], "grids.epsilons", "greater than or equal to 0.001"),
        (
            "models/model_5_15/family",
            "blade",
            "models.model_5_15",
            "no family 'blade'; did you mean 'blades'?",
        ),
        ("models/model_5_15/family", None, "models", "model_5_15 does not say its family: one of blades"),
        ("models/stationary/toleranse", 1.0, "models.stationary.toleranse", "did you mean 'tolerance'?"),
        ("stationary", {"stationary": {"tolerance": 0.02}}, "earlier version", "'family: stationary'"),
        ("variants", [{"model": "model_1_1", "name": "plain"}], "earlier version", "under 'rows'"),
        ("grids/epsilons", [], "grids.epsilons", "at least 1 item"),
        ("grids/peer_minutes", 0, "grids.peer_minutes", "greater than or equal to 1"),
        ("figures/fig01_bootstrap/of", ["boostrap"], "figures.fig01_bootstrap", "did you mean 'bootstrap'?"),
        ("models/figures", GOOD["models"]["model_1_1"], "models", "cannot be called 'figures'"),
        ("device", "gpu", "device", "auto, cpu, cuda"),
        ("figures/accuracy", {"kind": "crosstabs", "of": ["bootstrap"]}, "figures", "choose another name"),
        ("figures/fig01_bootstrap/of", [], "figures.fig01_bootstrap.of", "at least 1 item"),
        ("figures/fig13_entropy/of", ["bootstrap"], "figures.fig13_entropy", "not of the bootstrap"),
        ("figures/fig03_three_blades/of", ["model_5_15"], "figures.fig03_three_blades", "three blades"),
        ("figures/fig12_co_assignment/of", ["model_5_15"], "figures.fig12_co_assignment", "odd number"),
        ("figures/fig10_gate_weights/of", ["model_5_51"], "figures.fig10_gate_weights", "did you mean"),
        ("figures/fig07_z_against_d/kind", "z_against", "figures.fig07_z_against_d.kind", "'z_against_d'"),
        (
            "figures/fig07_z_against_d/kind",
            "training",
            "figures.fig07_z_against_d.kind",
            "known here: crosst",
        ),
        ("figures/fig07_z_against_d/kind", 7, "figures.fig07_z_against_d.kind", "string"),
        ("figures/mixing_x", {"kind": "crosstabs", "of": ["bootstrap"]}, "figures", "choose another name"),
        ("figures/fig08_figure_of_merit/of", ["a", "b"], "figures.fig08_figure_of_merit", "shows one thing"),
        ("figures/fig08_figure_of_merit/of", ["marginals"], "figures.fig08_figure_of_merit", "no row"),
        ("answers_by_blade/model", "model_3_1", "answers_by_blade.model", "did you mean 'model_3_10'?"),
        ("models/model_5_15/stages/0/floor", 1e-8, "models.model_5_15.stages.0", "go with 'loss: z'"),
        (
            "models/model_5_15/stages/0/specials",
            ["SEX=1"],
            "models.model_5_15.stages.0",
            "'specials' go with",
        ),
        ("models/model_5_15/stages/1/learning_rate", float("inf"), "stages.1.learning_rate", "finite"),
        ("seed", 1.5, "seed", "integer"),
    ],
)
def test_faulty_parameters_are_refused_with_place_and_nearest_name(path, value, place, message):
    with pytest.raises(InputError, match="params.yaml") as failure:
        check(changed(path, value), Params, "params.yaml")
    text = str(failure.value)
    assert place in text and message in text


def test_a_private_model_releases_one_table():
    params = copy.deepcopy(GOOD)
    params["rows"].append({"model": "stationary_dp", "name": "again"})
    with pytest.raises(InputError, match="stationary_dp releases one table, but has 2 rows"):
        check(params, Params, "params.yaml")


def test_several_faults_are_reported_together():
    params = changed("sead", 1) | {"device": "gpu"}
    with pytest.raises(InputError) as failure:
        check(params, Params, "params.yaml")
    assert "sead" in str(failure.value) and "device" in str(failure.value)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "p.yaml").write_text("seed: 1\nseed: 2\n")
    with pytest.raises(InputError, match="key 'seed' stands twice"):
        load(tmp_path / "p.yaml", Params)


def test_a_file_that_is_not_yaml_is_refused(tmp_path):
    (tmp_path / "p.yaml").write_text("a: [1, 2")
    with pytest.raises(InputError, match="not valid YAML"):
        load(tmp_path / "p.yaml", Params)
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "q.yaml", Params)


def test_numbers_in_yaml_are_decimal_even_with_leading_zeros(tmp_path):
    (tmp_path / "a.yaml").write_text("010: ten\n08: eight\nt: 1:30\nneg: -7\n")
    assert read_yaml(tmp_path / "a.yaml") == {10: "ten", 8: "eight", "t": "1:30", "neg": -7}


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "a.yaml").write_text("# nothing\n")
    with pytest.raises(InputError, match="a.yaml is empty"):
        load(tmp_path / "a.yaml", Params)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_can_be_laid_over_params_yaml(example):
    whole, over = (yaml.safe_load(path.read_text()) for path in (ROOT / "params.yaml", example))
    laid = {key: {**whole.get(key, {}), **to} if isinstance(to, dict) else to for key, to in over.items()}
    emptied = {key: {} if to is None else to for key, to in laid.items()}
    check(whole | emptied, Params, example.name)
