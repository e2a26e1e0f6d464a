"""The parts of a scattered data set: of which each of its records is."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from modp.survey.codebook import Codebook
from modp.survey.records import Records
from modp.survey.weights import Weights, are_named, read_households


@dataclass(frozen=True)
class Whole:
    """The coded records of a scattered data set, in its folder of results.

    train, held : (n,) and (m,), the names of the parts of its records and of those held out
    """

    folder: Path
    train: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, folder: Path) -> "Whole":
        """Read of which part each record is, from what :func:`write` wrote."""
        return cls(folder, *read(folder / "parts.parquet"))

    @cached_property
    def codebook(self) -> Codebook:
        """Of all parts."""
        return Codebook.from_json((self.folder / "codebook.json").read_text(encoding="utf-8"))

    def records(self, which: str) -> Records:
        """Return all parts' ``records`` or ``holdout``."""
        return Records.read(self.folder / f"{which}.parquet", self.codebook)

    @cached_property
    def weights(self) -> Weights | None:
        """Of all parts' records, where the data set names such."""
        return Weights.read(self.folder / "weights.parquet")

    @cached_property
    def households(self) -> np.ndarray:
        """Of which household each of all parts' records is, int64 (n,)."""
        return read_households(self.folder / "weights.parquet")

    @property
    def housed(self) -> bool:
        """Whether the data set names households."""
        return are_named(self.folder / "weights.parquet")

    def rows(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Return where a part's records stand among all, and among those held out."""
        return np.flatnonzero(self.train == part), np.flatnonzero(self.held == part)


def write(path: Path, train: np.ndarray, held: np.ndarray) -> None:
    """Write of which part each record is, first those that models learn from, then those held out."""
    names = np.concatenate([train, held])
    table = {
        "part": pa.array(names, pa.string()).dictionary_encode(),
        "held": np.arange(len(names)) >= len(train),
    }
    pq.write_table(pa.table(table), path, compression="zstd")


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read what :func:`write` wrote: the parts' names of both."""
    table = pq.read_table(path)
    names = table["part"].combine_chunks().dictionary_decode().to_numpy(zero_copy_only=False)
    held = table["held"].to_numpy()
    return names[~held], names[held]
