"""What benchmarks say is what was measured: costs of processes, judged by targets; peers' measures."""

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, codes_of, records_of

from modp.measures.variation import KEYS
from modp.pipeline.params import DATA_OF_BENCHMARKS

sys.path.insert(0, str(ROOT / "benchmarks"))
import audit
import budgets
import gpu
import made
import measured
import others_dp
import peers
import peers_dp
import work
from measured import Cost

MEASURING = """import json, sys
from pathlib import Path
import measured
cost = measured.run([sys.executable, "-c", sys.argv[1]], Path(sys.argv[2]))
print(json.dumps(vars(cost)))
"""


def cost_of(program: str, log: Path) -> Cost:
    """Measured by a process that is small, as those are that measure; this one, of tests, is not."""
    words = [sys.executable, "-c", MEASURING, program, str(log)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT / "benchmarks")
    return Cost(**json.loads(done.stdout))


@pytest.mark.pipeline
def test_a_command_costs_its_own_time_and_memory_and_that_of_what_it_starts(tmp_path):
    inner = "x = bytearray(200_000_000); x[::4096] = b'1' * len(x[::4096])"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    heavy, light = (cost_of(some, tmp_path / "log") for some in (program, "pass"))
    assert 200 < heavy.peak_mb < 400 and light.peak_mb < heavy.peak_mb
    assert light.processor > 0 and light.wall > 0
    program = (
        "import mmap, time; file = open('{}', 'w+b'); file.truncate(100_000_000); "
        "x = mmap.mmap(file.fileno(), 0); x[::4096] = b'1' * len(x[::4096]); y = b'1' * {}; time.sleep(0.3)"
    )
    in_file, in_memory = (
        cost_of(program.format(tmp_path / "big", size), tmp_path / "log") for size in (10, 100_000_000)
    )
    assert in_file.peak_mb > 100 > 40 > in_file.held_mb > 1
    assert 100 < in_memory.held_mb < 150 and in_memory.peak_mb > 200
    with pytest.raises(measured.FailedError, match="status 3:\nso it ends"):
        measured.run([sys.executable, "-c", "print('so it ends'); exit(3)"], tmp_path / "other")


@pytest.mark.parametrize(
    ("unit", "measured_", "within"),
    [("s", 50, False), ("processor s", 90, False), ("inner s", 4, True), ("GB", 3, True)],
)
def test_a_line_is_judged_in_its_own_unit(unit, measured_, within):
    line = {"target": 10, "unit": unit}
    found = budgets.judged(line, Cost(50, 90, 3000), {"wall": 4, "processor": 20})
    assert found == {"measured": measured_, "within": within}
    assert not budgets.judged(line | {"peak_gb": 2}, Cost(1, 1, 3000), {"wall": 1})["within"]


def test_every_line_has_work_and_every_data_set_of_theirs_a_key_in_params():
    for name, line in budgets.BUDGETS.items():
        assert (name in budgets.COMMANDS) != (name in work.MEASURED), name
        assert line["unit"] in ("s", "processor s", "inner s", "inner processor s", "GB")
        assert ("inner" in line["unit"]) <= (name in work.MEASURED)
        assert line.get("data", "nist") in DATA_OF_BENCHMARKS


def test_a_line_without_its_data_says_so_and_the_table_is_whole(tmp_path, capsys):
    budgets.main(["measure", "florida", "--out", str(tmp_path / "florida.json")])
    row = json.loads((tmp_path / "florida.json").read_text())
    done = row | {"name": "crosstab", "said": "", "measured": 0.02, "within": True, "wall": 1.0}
    (tmp_path / "crosstab.json").write_text(json.dumps(done | {"processor": 2.0, "peak_mb": 500}))
    files = [str(tmp_path / f"{name}.json") for name in ("florida", "crosstab")]
    budgets.main(["table", *files, "--out", str(tmp_path / "budgets.parquet")])
    printed = capsys.readouterr().out
    assert "left out: florida is not here" in printed and "| yes | 1 | 2 | 0.50 |" in printed
    assert (tmp_path / "budgets.md").read_text() in printed and (tmp_path / "budgets.parquet").is_file()


def test_made_records_use_every_category_and_their_raw_file_codes_to_them(tmp_path):
    whole = made.records(300, 5, 23)
    assert whole.block_starts[-1] == 23
    assert all(
        len(np.unique(answers)) == size
        for answers, size in zip(whole.codes.T, whole.codebook.sizes, strict=True)
    )
    made.write_raw(tmp_path, whole)
    questions = yaml.safe_load((tmp_path / "questions.yaml").read_text())["questions"]
    assert [len(q["categories"]) for q in questions] == whole.codebook.sizes.tolist()


def test_the_tree_keeps_the_pairs_that_it_hangs_on():
    rng, sizes = np.random.default_rng(1), (3, 4, 3)
    codes = codes_of(sizes, 4000, rng)
    codes[:, 2] = np.where(rng.random(4000) < 0.9, codes[:, 0], codes[:, 2])  # question 2 hangs on question 0
    records = records_of(codes, sizes)
    tree = peers.Tree(records)
    assert tree.parents[2] == 0
    drawn = tree.sample(1).codes
    together = np.mean(drawn[:, 2] == drawn[:, 0])
    assert together == pytest.approx(np.mean(codes[:, 2] == codes[:, 0]), abs=0.03)
    assert np.mean(drawn[:, 0] == 1) == pytest.approx(np.mean(codes[:, 0] == 1), abs=0.03)


def test_copies_of_people_who_are_alone_are_counted_others_are_not():
    people = np.array([[0, 1], [0, 1], [2, 3]], np.int16)
    assert peers.exactly(np.array([[0, 1], [2, 3], [2, 3], [9, 9]], np.int16), people) == 0.5


def test_a_command_that_takes_too_long_is_stopped(tmp_path):
    with pytest.raises(measured.FailedError, match="stopped after 0.005 minutes"):
        measured.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", most=0.3)


@pytest.mark.parametrize(("rho", "choices"), [(0.0305, 23), (0.02, 23), (1.78, 37)])
def test_what_is_left_for_choosing_pays_for_every_choice_however_it_is_rounded(rho, choices):
    found = others_dp.affordable(rho, choices)
    assert rho * (1 - 1e-12) < found <= rho
    left = found / 2
    each = (left - 0.9 * left) / choices
    total = Fraction(0)
    for _ in range(choices):
        total += Fraction(others_dp.just_below(each))
    assert total < Fraction(left - 0.9 * left)


def test_answers_are_rounded_to_their_shares_and_stand_in_random_order():
    rng = np.random.default_rng(1)
    shares = np.array([2.0, 3.0, 5.0])
    many = np.array([others_dp.whole(shares, 7, rng) for _ in range(2000)])
    counts = (many[:, :, None] == np.arange(3)).sum(axis=1)
    expected = 7 * shares / 10  # 1.4, 2.1, 3.5
    assert (counts >= np.floor(expected)).all() and (counts <= np.ceil(expected) + 1).all()
    assert counts.mean(axis=0) == pytest.approx(expected, abs=0.06)
    assert (many == 2).mean(axis=0) == pytest.approx(np.full(7, 0.5), abs=0.06)  # nobody is first


def test_releases_of_others_are_averaged_beside_ours_and_what_was_stopped_is_said(tmp_path):
    def line(method, epsilon, median, said=""):
        values = dict.fromkeys(KEYS, median) | {"tables": 23, "wall": 60.0, "processor": 90.0}
        row = {"method": method, "epsilon": epsilon, "machine": "a machine", "said": said}
        return row | ({} if said else values)

    rows = [line("mst", 1.0, 4.0), line("mst", 1.0, 5.0), line("aim", 1.0, 0, "left out: stopped")]
    found = peers_dp.averaged(rows).set_index("method")
    assert found.loc["mst", "all.median"] == 4.5 and found.loc["mst", "all.median.error"] == 0.5
    assert found.loc["aim", "releases"] == 0 and found.loc["aim", "said"] == "left out: stopped"
    files = [tmp_path / f"{number}.json" for number in range(3)]
    for file, row in zip(files, rows, strict=True):
        file.write_text(json.dumps(row))
    own = {"epsilon": [1.0], "delta": [1e-5], "rho": [0.03], "releases": [5]}
    own |= {key: [3.0] for key in KEYS} | {f"{key}.error": [0.1] for key in KEYS}
    pd.DataFrame(own | {f"independent.{key}": [7.0] for key in KEYS}).to_parquet(tmp_path / "own_dp.parquet")
    drawn = tmp_path / "epsilon.png"
    given = {"out": tmp_path / "peers_dp.parquet", "own": tmp_path / "own_dp.parquet", "figures": drawn}
    given["dataset"] = ROOT / "workflow/datasets/sample.yaml"
    words = [word for name, path in given.items() for word in (f"--{name}", str(path))]
    peers_dp.main(["table", *map(str, files), *words])
    text = (tmp_path / "peers_dp.md").read_text()
    assert "| MST | 1 | 2 | 4.50 ± 0.50 |" in text and "| own_dp | 1 | 5 | 3.00 ± 0.10 |" in text
    assert "left out: stopped" in text and drawn.read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_parquet(tmp_path / "peers_dp.parquet")) == 3


def test_a_method_whose_environment_is_lacking_is_left_out_with_a_sentence(tmp_path):
    state = tmp_path / "state.txt"
    state.write_text("its packages could not be installed: see logs/peers/dpmm.log\n")
    row = peers.measure("dpmm", [], state, 1)
    assert row["said"].startswith("left out: its packages could not be installed")
    assert "left out" in peers.printed([row])


def test_without_a_gpu_the_script_says_how_to_run_its_paths(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="--device cpu --size 2000 runs the same paths"):
        gpu.name_of("cuda")


@pytest.mark.pipeline
def test_the_paths_for_a_gpu_run_on_tensors_of_the_cpu():
    found = gpu.sweep("cpu", 500, None)
    assert found["seconds"] > 0 and "of answers changed" in found["said"]


@pytest.mark.pipeline
def test_peers_are_measured_on_one_table(tmp_path, monkeypatch):
    made.write(tmp_path, made.records(1500, 6, 24), 300)
    files = [str(tmp_path / name) for name in ("records.parquet", "holdout.parquet", "codebook.json")]
    rows = {"bootstrap": peers.measure("bootstrap", files, None, 1)}

    def here(command: list, log: Path) -> Cost:
        """The same step without a process of its own, which has been seen to work."""
        peers.main([str(word) for word in command[2:]])
        return Cost(1, 1, 1)

    monkeypatch.setattr(peers, "run", here)
    rows["chow-liu"] = peers.measure("chow-liu", files, None, 1)
    assert [row["said"] for row in rows.values()] == ["", ""]
    assert rows["bootstrap"]["median"] == pytest.approx(1, abs=0.4)
    assert rows["bootstrap"]["exact_train"] > rows["chow-liu"]["exact_train"]
    assert rows["bootstrap"]["closer"] > 0.55 and rows["bootstrap"]["zero_rows"] == 0


def test_an_attack_that_always_succeeds_bounds_epsilon_by_what_so_many_releases_can_show():
    # All of 40 alarms true and none of 40 false: shares of at least .025^(1/40) and at most 1 - that.
    share = 0.025 ** (1 / 40)
    assert audit.least_epsilon(40, 0, 40, 0) == pytest.approx(math.log(share / (1 - share)))
    assert audit.least_epsilon(20, 20, 40, 0) < 0
    rng = np.random.default_rng(1)
    told = np.column_stack([rng.random(80), np.ones(80)]), np.column_stack([rng.random(80), np.zeros(80)])
    assert audit.audited(told, 0) == (pytest.approx(math.log(share / (1 - share))), 1)
    alike = rng.random((80, 2)), rng.random((80, 2))
    assert audit.audited(alike, 0)[0] < 0.5


@pytest.mark.pipeline
@pytest.mark.parametrize(("household", "who"), [("1", "one record"), ("3", "a household of 3")])
def test_an_audit_says_what_it_attacked_and_each_attacks_bound(household, who, monkeypatch, capsys):
    words = ["audit.py", "--releases", "8", "--records", "30", "--household", household]
    monkeypatch.setattr(sys, "argv", words)
    audit.main()
    said = capsys.readouterr().out
    assert f"with and without {who}, claimed epsilon 1: at least 0.00" in said and "not contradicted" in said
    assert all(f"- {name}: at least " in said for name in audit.ATTACKS)


@pytest.mark.pipeline
@pytest.mark.parametrize(("values", "seen"), [("stated", False), ("shape", True)])
def test_an_audit_sees_numbers_that_are_drawn_by_the_true_ones(values, seen, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["audit.py", "--releases", "120", "--values", values])
    audit.main()
    said = capsys.readouterr().out
    assert ("CONTRADICTED" in said) == seen
    assert ("- exact numbers: at least 0.00" in said) == (not seen)
