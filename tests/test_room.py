"""A full disk: one sentence that names the file, nothing half-written."""

import errno
import json
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conftest import codes_of, records_of
from safetensors import SafetensorError
from safetensors.numpy import save_file

from modp.__main__ import main
from modp.base import checkpoint
from modp.base.errors import InputError
from modp.base.output import Log, room_for, written
from modp.models.stationary import matching
from modp.models.stationary.model import Stationary

SIZES = (9,) * 12
LIMIT = 4096


@contextmanager
def no_file_above(size: int):
    """As on a full disk, a write past so many bytes fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def records():
    return records_of(codes_of(SIZES, 5000, np.random.default_rng(1)), SIZES)


def model_of(records) -> Stationary:
    size = int(records.block_starts[-1])
    return Stationary(
        np.zeros((size, size), np.float32),
        np.zeros(size, np.float32),
        np.zeros((size, size), bool),
        records.block_starts,
    )


def save_text(path: Path, records) -> None:
    with written(path) as part:
        part.write_text("x" * 10 * LIMIT)


def save_records(path: Path, records) -> None:
    with written(path) as part:
        records.write(part)


def save_model(path: Path, records) -> None:
    with written(path) as part:
        model_of(records).save(part, records.codebook)


def save_checkpoint(path: Path, records) -> None:
    checkpoint.save(path, "a fit", {"chains": records.codes}, {}, save_file)


@pytest.mark.parametrize("save", [save_text, save_records, save_model, save_checkpoint])
def test_a_write_without_room_is_one_sentence_and_leaves_what_was_there(save, records, tmp_path):
    path = tmp_path / "folder" / "made.file"
    path.parent.mkdir()
    path.write_text("before")
    with no_file_above(LIMIT), pytest.raises(InputError) as told:
        save(path, records)
    assert (
        str(path) in str(told.value) and "File too large" in str(told.value) and "\n" not in str(told.value)
    )
    assert [file.name for file in path.parent.iterdir()] == ["made.file"] and path.read_text() == "before"
    save(path, records)
    assert path.stat().st_size > LIMIT


@pytest.mark.parametrize(
    "failure",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        pa.ArrowInvalid("IOError: [errno 28] No space left on device"),
    ],
)
def test_every_library_s_full_disk_is_told(failure, tmp_path):
    said = r"a\.bin cannot be written: No space left on device\. Make room"
    with pytest.raises(InputError, match=said), room_for(tmp_path / "a.bin"):
        raise failure


@pytest.mark.parametrize("failure", [PermissionError(errno.EACCES, "denied"), ValueError("28"), OSError(28)])
def test_another_failure_stays_what_it_is(failure, tmp_path):
    with pytest.raises(type(failure)) as raised, room_for(tmp_path / "a.bin"):
        raise failure
    assert raised.value is failure


def test_a_step_ends_with_the_sentence_also_where_its_log_has_no_room(records, tmp_path, capsys, monkeypatch):
    files = [tmp_path / name for name in ("records.parquet", "codebook.json", "model.safetensors")]
    records[:300].write(files[0])
    files[1].write_text(records.codebook.to_json())
    model_of(records).save(files[2], records.codebook)
    words = ["draw", "--records", files[0], "--codebook", files[1], "--weights", files[2], "--family"]
    words += ["stationary", "--name", "r", "--seed", "1", "--out", tmp_path / "out.parquet"]
    words += ["--row", json.dumps({"model": "m", "name": "r", "sweeps": 1}), "--log", tmp_path / "r.log"]
    before = sorted(file.name for file in tmp_path.iterdir())

    def full(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    with no_file_above(1024):
        assert main(list(map(str, words))) == 1
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("error in draw: ") and "out.parquet cannot be written" in said
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*before, "r.log"])
    monkeypatch.setattr(Path, "write_text", full)
    assert main([*map(str, words[:-1]), str(tmp_path / "new.log")]) == 1
    assert "new.log cannot be written: No space left on device" in capsys.readouterr().err


def test_a_line_without_room_is_lost_and_the_step_goes_on(tmp_path):
    log = Log(tmp_path / "a.log", quiet=True)
    log("first")
    with no_file_above(4):
        log("lost")
    log("last")
    assert (tmp_path / "a.log").read_text() == "first\nlast\n"


def test_a_fit_s_checkpoint_without_room_keeps_the_one_before(tmp_path):
    path = tmp_path / "kept.checkpoint"
    state = matching.State({"w": np.ones(10)}, {"sweeps": 1})
    matching.save_state(path, "a fit", state)
    with no_file_above(LIMIT), pytest.raises(InputError, match="kept"):
        matching.save_state(path, "a fit", matching.State({"w": np.ones(10_000)}, {"sweeps": 2}))
    found = matching.load_state(path, "a fit")
    assert found is not None and found.facts == {"sweeps": 1} and len(list(tmp_path.iterdir())) == 1
