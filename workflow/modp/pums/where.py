"""Where PUMS files are: datasets, the Census Bureau's addresses, the pipeline's folders."""

import re
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field, model_validator

from modp.config import Strict
from modp.errors import InputError, did_you_mean

CENSUS = "https://www2.census.gov/programs-surveys/acs"

DATASETS = Path("workflow/datasets")
QUESTION_SETS = Path("workflow/questions")


class CensusSource(Strict):
    """Files of the Census Bureau's server."""

    year: int = Field(ge=2017)
    span: Literal["1-Year", "5-Year"] = "1-Year"
    records: Literal["persons", "housing"]
    states: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _states_are_postal_codes(self) -> "CensusSource":
        for state in self.states:
            if not re.fullmatch("[a-z]{2}", state):
                raise ValueError(f"state {state!r}: write the postal code in small letters, as in 'tx'")
        return self

    @property
    def folder(self) -> str:
        """The server's folder below the root, such as ``data/pums/2022/1-Year``."""
        if (self.year, self.span) == (2020, "1-Year"):
            return "experimental/2020/data/pums/1-Year"
        return f"data/pums/{self.year}/{self.span}"

    @property
    def by_hand(self) -> str:
        """The folder, below that of downloads, for files that a person fetched."""
        return f"{self.year}-{self.span}"

    @property
    def files(self) -> list[str]:
        """The zips' names, in the order of the states."""
        return [f"csv_{self.records[0]}{state}.zip" for state in self.states]


class Dataset(Strict):
    """Where a data set's records come from and which question set codes them.

    Exactly one of ``files`` (paths relative to the folder in which the pipeline runs) and
    ``census`` is given. ``sha256`` may pin the content of files, by their names.
    """

    title: str
    questions: str
    files: list[str] = Field(default_factory=list)
    sha256: dict[str, str] = Field(default_factory=dict)
    census: CensusSource | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "Dataset":
        if bool(self.files) == bool(self.census):
            raise ValueError("give either 'files' (a list of paths) or 'census'")
        names = self.names
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"two files of the same name: {', '.join(twice)}")
        for name in self.sha256:
            if name not in names:
                raise ValueError(f"sha256: no file {name!r} in this data set{did_you_mean(name, names)}")
        return self

    @property
    def names(self) -> list[str]:
        """The source files' names without folders, in the order in which they are read."""
        return self.census.files if self.census else [PurePosixPath(f).name for f in self.files]

    def path(self, name: str) -> str | None:
        """Return the local path of the source file ``name``, or None if it must be fetched."""
        return None if self.census else self.files[self.names.index(name)]

    def agrees_with(self, records: str) -> None:
        """Raise InputError if the question set is for another kind of records than the files."""
        if self.census and self.census.records != records:
            raise InputError(
                f"{self.title}: the files hold {self.census.records}, the questions are of {records}"
            )

    def url(self, name: str) -> str:
        """Return the address of the source file ``name``."""
        assert self.census is not None
        return f"{CENSUS}/{self.census.folder}/{name}"


def dataset_path(name: str) -> str:
    """Return the dataset YAML that ``name`` means: one of workflow/datasets, or a path."""
    return _named_or_path(name, DATASETS, "data set")


def question_set_path(name: str) -> str:
    """Return the question set YAML that ``name`` means: one of workflow/questions, or a path."""
    return _named_or_path(name, QUESTION_SETS, "question set")


def require_files(dataset: Dataset, where: str) -> None:
    """Raise InputError naming the data set's local files that do not exist."""
    missing = [file for file in dataset.files if not Path(file).is_file()]
    if missing:
        listing = "".join(f"\n  {file}" for file in missing)
        raise InputError(f"{where}: 'files' names what does not exist, seen from {Path.cwd()}:{listing}")


def _named_or_path(name: str, folder: Path, what: str) -> str:
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("*.yaml"))
        raise InputError(
            f"there is no {what} {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known)}; a path to a YAML file works too)"
        )
    return path.as_posix()
