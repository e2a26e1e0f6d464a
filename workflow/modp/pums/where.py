"""Where PUMS files are: datasets, the Census Bureau's addresses, the pipeline's folders."""

import os
import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, model_validator

from modp.base.config import Strict
from modp.base.errors import InputError, did_you_mean
from modp.files.options import TableOptions
from modp.pums.filters import FILTERS, FilterName
from modp.pums.places import NATION, NATION_STATES, NOT_IN_NATION, PARTS, STATES
from modp.pums.vintages import Vintage
from modp.survey.variance import Variance

DATASETS = Path("workflow/datasets")
QUESTION_SETS = Path("workflow/questions")
CLONE = Path(__file__).parents[3]
"""The folder that this code was cloned into: the second place in which files are looked for."""

NAME = re.compile(r"\w([\w.+ -]*[\w+-])?")
"""What folders, Snakemake's wildcards and a shell can all bear as a data set's name."""


STATE, STATE_COLUMN = "state", "ST"
"""What ``scatter`` says for the state, and the column that it stands in, in whatever vintage."""

NOTE = "dataset.txt"
"""In a folder of results: the dataset YAML that they are of."""


class CensusSource(Strict):
    """Files of the Census Bureau's server."""

    year: int = Field(ge=2017)
    span: Literal["1-Year", "5-Year"] = "1-Year"
    records: Literal["persons", "housing", "households"]
    states: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _the_files_exist(self) -> "CensusSource":
        require_postal_codes(self.states)
        experimental = (self.year, self.span) == (2020, "1-Year")
        if experimental and "pr" in self.states:
            raise ValueError("there is no Puerto Rico in the experimental 1-Year files of 2020")
        twice = [s for s in self.states if s not in NOT_IN_NATION and s != NATION]
        if NATION in self.states and twice:
            raise ValueError(
                f"'{NATION}' holds {', '.join(twice)} already; all but {NOT_IN_NATION[0]} is in it"
            )
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
        """The zips' names, in the order of the states; of households those of persons, then of housing."""
        return [f"csv_{kind}{state}.zip" for kind in self.kinds for state in self.states]

    @property
    def kinds(self) -> str:
        """The letters of the kinds of files."""
        return "ph" if self.records == "households" else self.records[0]

    def members_of(self, file: str) -> list[str]:
        """Return the names of the CSVs in the zip of this name; several for the nation."""
        state = self.states[self.files.index(file) % len(self.states)]
        stem = f"psam_{file.removeprefix('csv_')[0]}"
        if state == NATION:
            return [f"{stem}{NATION}{part}.csv" for part in PARTS[self.span]]
        return [f"{stem}{STATES[state][0]:02}.csv"]


Other = Literal["constant", "identifier", "free text", "many words", "all blank"]
"""What a column that is no question may be."""


NOT_OF_HOUSEHOLDS = (
    *("keep", "only", "scatter", "part", "holdout", "codebook", "state_question"),
    *("weight", "replicates", "published"),
)
"""What cannot be said of a data set of whole households."""


class HoldoutFiles(Strict):
    """Files of records to hold out, instead of a share of the data set's own."""

    files: list[str] = Field(min_length=1)


class Part(Strict):
    """One part of a scattered data set: the folder of results it is ``of``, and how it is ``called``."""

    of: str
    called: str


class Dataset(Strict):
    """Where a data set's records come from and which question set codes them.

    Exactly one of ``files`` (paths relative to the folder in which the pipeline runs), ``census`` and
    ``part`` is given. ``sha256`` may pin the content of files, by their names.

    ``faithful: false`` takes the question set's corrections instead of what the paper did;
    ``leave_out`` names questions that the files do not have; ``state_question`` adds the state
    (one category for each of the states it lists) as a last question; ``keep`` names filters of
    records; ``unknown`` says what becomes of an answer that the question set does not know.
    ``published`` names the part of workflow/published/accuracy.yaml with the paper's numbers, for
    the paper's own data. ``year`` and ``span`` tell the vintage of ``files`` of Census's, which is
    needed for those of five years. ``holdout`` names files of records that are kept from the models,
    like those that ``files`` names but of other people; then no share of the records is held out.

    ``table`` says that the file is anybody's table, not one of Census's, and how it is to be read where that
    is not found out by itself. ``household`` is the column of the key that members of a household (or another
    cluster) share: they are held out together. ``weight`` and ``replicates`` (``PWGTP1..80``) name columns of
    survey weights, ``variance`` how standard errors follow from the latter: by successive differences
    (``sdr``, as Census's), balanced repeated replication (``brr``), Fay's form of it (``fay``, with ``fay``
    the coefficient), or the jackknife (``jk1``). ``other_columns`` says of columns that are no questions what
    they are. With ``weight_question`` the deciles of the weight are a question too, and synthetic records get
    weights of their own, drawn inside these.

    ``codebook`` names another data set, or is a path to its codebook.json: the records are coded under that
    codebook, so that a model of those others can be applied to them.

    ``only`` keeps the records that give one of these answers, as the files have them, in a column, such as
    ``{ST: [2, 56]}``. ``scatter`` names a column, or ``state``, by whose answers ``snakemake scattered``
    takes the records apart, to fit and draw each part by itself. ``part`` is one of these, which has no
    files of its own; the pipeline writes such data sets.

    ``records: households`` makes whole households: of persons' files that carry their household's answers,
    or of files of persons and files of households with a common key (``household``, by default SERIALNO). The
    question set says of each question whose it is. Households of more than ``most`` persons (8) are left out.
    """

    title: str
    questions: str
    files: list[str] = Field(default_factory=list)
    sha256: dict[str, str] = Field(default_factory=dict)
    census: CensusSource | None = None
    faithful: bool = True
    leave_out: list[str] = Field(default_factory=list)
    state_question: list[str] = Field(default_factory=list)
    keep: list[FilterName] = Field(default_factory=list)
    unknown: Literal["refuse", "category"] = "refuse"
    published: str | None = None
    year: int | None = Field(default=None, ge=2017)
    span: Literal["1-Year", "5-Year"] | None = None
    holdout: HoldoutFiles | None = None
    table: TableOptions | None = None
    household: str | None = None
    weight: str | None = None
    weight_question: bool = False
    replicates: str | None = Field(default=None, pattern=r"^.*[^0-9][0-9]+\.\.[0-9]+$")
    variance: Variance = "sdr"
    fay: float | None = Field(default=None, ge=0, lt=1)
    other_columns: dict[str, Other] = Field(default_factory=dict)
    codebook: str | None = None
    only: dict[str, Annotated[list[str | int], Field(min_length=1)]] = Field(default_factory=dict)
    scatter: str | None = None
    part: Part | None = None
    records: Literal["households"] | None = None
    most: int | None = Field(default=None, ge=1, le=20)

    @model_validator(mode="after")
    def _households_are_whole(self) -> "Dataset":
        if self.census and (self.census.records == "households") != (self.records == "households"):
            raise ValueError("'records: households' goes both into 'census' and beside it")
        if self.records is None:
            if self.most is not None:
                raise ValueError(
                    "'most' is the size of the largest household; it needs 'records: households'"
                )
            return self
        told = [name for name in NOT_OF_HOUSEHOLDS if getattr(self, name)]
        if told:
            raise ValueError(f"whole households cannot be made with {', '.join(map(repr, told))}")
        return self

    @model_validator(mode="after")
    def _one_source(self) -> "Dataset":
        if (bool(self.files), bool(self.census), bool(self.part)).count(True) != 1:
            raise ValueError("give either 'files' (a list of paths) or 'census'")
        if self.scatter == STATE and self.table:
            raise ValueError("'scatter: state' is for Census's files; name a column of the table")
        if self.census and (self.year or self.span):
            raise ValueError("'year' and 'span' go into 'census', or beside 'files'")
        if (self.year is None) != (self.span is None):
            raise ValueError("'year' and 'span' go together")
        if self.table and (self.census or self.vintage or self.keep or self.state_question):
            raise ValueError("'table' is for files that are not Census's; these have another key for them")
        if self.codebook is not None and self.unknown == "category":
            raise ValueError("'unknown: category' makes categories, those of 'codebook' are made already")
        if self.weight_question and self.weight is None:
            raise ValueError("'weight_question' is about the column that 'weight' names; give that too")
        if (self.variance == "fay") != (self.fay is not None):
            raise ValueError("'variance: fay' and 'fay' (the coefficient, such as 0.5) go together")
        names = [*self.names, *self.held_names]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"two files of the same name: {', '.join(twice)}")
        for name in self.sha256:
            if name not in names:
                raise ValueError(f"sha256: no file {name!r} in this data set{did_you_mean(name, names)}")
        return self

    @property
    def vintage(self) -> Vintage | None:
        """Of which year and how many the files are, where the data set says so."""
        source = self.census or self
        return Vintage(source.year, int(source.span[0])) if source.year and source.span else None

    @model_validator(mode="after")
    def _state_question_names_states(self) -> "Dataset":
        require_postal_codes(self.state_question)
        return self

    @property
    def names(self) -> list[str]:
        """The source files' names without folders, in the order in which they are read."""
        return self.census.files if self.census else [PurePosixPath(f).name for f in self.files]

    @property
    def scattered_by(self) -> str | None:
        """The column by whose answers the records are taken apart."""
        return STATE_COLUMN if self.scatter == STATE else self.scatter

    @property
    def parts(self) -> list[str] | None:
        """The parts' names, where they are known before any file is read."""
        if self.scatter != STATE or not self.census or self.only:
            return None
        named = [NATION_STATES if state == NATION else [state] for state in self.census.states]
        return sorted(state for states in named for state in states)

    @property
    def replicate_columns(self) -> list[str]:
        """The columns of replicate weights."""
        if self.replicates is None:
            return []
        first, _, last = self.replicates.partition("..")
        stem = first.rstrip("0123456789")
        start = first[len(stem) :]
        width = len(start) if start.startswith("0") else 1  # wt01..16 pads its numbers
        return [f"{stem}{number:0{width}}" for number in range(int(start), int(last) + 1)]

    @property
    def asked_weight(self) -> str | None:
        """The column of the weight, where it is a question too."""
        return self.weight if self.weight_question else None

    @property
    def weights(self) -> list[str]:
        """The columns of weights, the replicates last."""
        return [self.weight, *self.replicate_columns] if self.weight else []

    @property
    def local_files(self) -> list[str]:
        """The paths of the files that are not fetched, those to hold out last."""
        return [*self.files, *(self.holdout.files if self.holdout else [])]

    @property
    def held_names(self) -> list[str]:
        """The names, without folders, of the files to hold out."""
        return [PurePosixPath(f).name for f in self.holdout.files] if self.holdout else []

    def path(self, name: str) -> str | None:
        """Return the local path of the source file ``name``, or None if it must be fetched."""
        return next((file for file in self.local_files if PurePosixPath(file).name == name), None)

    def agrees_with(self, records: str, levels: Collection[str] = ("person",)) -> None:
        """Raise InputError if a question set is for another kind of records than the files.

        Parameters
        ----------
        records : what the question set says that its questions are of
        levels : those of its questions
        """
        if self.records == "households":
            if len(set(levels)) < 2:
                raise InputError(
                    f"{self.title}: the question set has questions of {min(levels)}s alone: say "
                    "'level: household' of the household's questions, and only of these"
                )
            return
        if self.census and self.census.records != records:
            raise InputError(
                f"{self.title}: the files hold {self.census.records}, the questions are of {records}"
            )
        for name in self.keep:
            if FILTERS[name].records != records:
                raise InputError(
                    f"{self.title}: the filter {name!r} is for {FILTERS[name].records}, "
                    f"the questions are of {records}"
                )

    def url(self, name: str, base: str) -> str:
        """Return the address of the source file ``name`` below ``base``, Census's or a mirror's."""
        assert self.census is not None
        return f"{base.rstrip('/')}/{self.census.folder}/{name}"


def require_postal_codes(states: list[str]) -> None:
    """Raise ValueError if one of ``states`` is not a state's postal code, or stands twice."""
    known = [*STATES, NATION]
    for state in states:
        if state.lower() in known and state not in known:
            raise ValueError(f"state {state!r}: write the postal code in small letters, {state.lower()!r}")
        if state not in known:
            name = next((code for code, (_, name) in STATES.items() if name.lower() == state.lower()), None)
            hint = f"; did you mean {name!r}?" if name else did_you_mean(state, known)
            raise ValueError(f"there is no state {state!r}{hint} (postal codes, or {NATION!r} for all)")
        if states.count(state) > 1:
            raise ValueError(f"state {state!r} is listed twice")


def dataset_path(name: str) -> str:
    """Return the dataset YAML that ``name`` means: one of workflow/datasets, or a path."""
    return _named_or_path(name, DATASETS, "data set")


def question_set_path(name: str) -> str:
    """Return the question set YAML that ``name`` means: one of workflow/questions, or a path."""
    return _named_or_path(name, QUESTION_SETS, "question set")


def require_files(dataset: Dataset, where: str) -> None:
    """Raise InputError naming the data set's local files that do not exist."""
    missing = [file for file in dataset.local_files if not Path(at_hand(file)).is_file()]
    if missing:
        listing = "".join(f"\n  {file}" for file in missing)
        raise InputError(f"{where}: 'files' names what does not exist, seen from {Path.cwd()}:{listing}")


def codebook_path(dataset: Dataset, results: str) -> str | None:
    """Return where the codebook is that a data set's records are coded under, if it is another data set's.

    Parameters
    ----------
    results : the data set's folder of results; those of others are beside it

    Raises
    ------
    InputError
        if there is none, or it is the data set's own
    """
    if dataset.codebook is None:
        return None
    named = not dataset.codebook.endswith(".json")
    beside = Path(results).parent / dataset.codebook / "codebook.json"
    path = beside if named else Path(at_hand(dataset.codebook))
    if path.parent.resolve() == Path(results).resolve():
        raise InputError(f"codebook: {path} is what this data set makes itself; name another data set")
    if not path.is_file():
        first = f"code that data set first: snakemake --cores 2 coded --config dataset={dataset.codebook}"
        raise InputError(f"codebook: there is no {path}; {first if named else 'give the path to a codebook'}")
    return path.as_posix()


def at_hand(path: str) -> str:
    """Return where a file is: at ``path``, seen from this folder, or else seen from the clone's.

    So the pipeline can work in another folder than that of its code.
    """
    beside = CLONE / path
    return path if Path(path).exists() or not beside.exists() else os.path.relpath(beside)


def dataset_name(path: str) -> str:
    """Return the name of a data set, the stem of its YAML (x of ``x.dataset.yaml``).

    Raises InputError if no folder can have it.
    """
    name = Path(path).name.removesuffix(".yml").removesuffix(".yaml").removesuffix(".dataset")
    if not NAME.fullmatch(name):
        raise InputError(
            f"{path}: results go to a folder of the YAML's name, and {name!r} cannot be one: take letters, "
            "digits and _ - + . or single blanks, a letter or digit first, as in my-survey_2021.yaml"
        )
    return name


def require_own_results(results: str, dataset_yaml: str) -> None:
    """Raise InputError if a folder of results is that of another data set, whose YAML has the same name.

    Parameters
    ----------
    results : the folder, in which :func:`claim_results` has left a note
    dataset_yaml : of the data set that is to be worked on
    """
    note = Path(results, NOTE)
    if not note.is_file():
        return
    other = note.read_text(encoding="utf-8").strip()
    same = not Path(other).is_file() or Path(other).read_bytes() == Path(dataset_yaml).read_bytes()
    if not same and not Path(other).samefile(dataset_yaml):
        raise InputError(
            f"{results} holds the results of {other}, and those of {dataset_yaml} would take their place: "
            f"give one of the two files another name, or other results a folder, as in --config results=other"
        )


def claim_results(results: str, dataset_yaml: str) -> None:
    """Leave a note in a folder of results: of which dataset YAML they are, seen from this folder."""
    Path(results).mkdir(parents=True, exist_ok=True)
    Path(results, NOTE).write_text(f"{os.path.relpath(dataset_yaml)}\n", encoding="utf-8")


def _named_or_path(name: str, folder: Path, what: str) -> str:
    wanted = Path(name) if name.endswith((".yaml", ".yml")) else folder / f"{name}.yaml"
    path = Path(at_hand(wanted.as_posix()))
    if not path.is_file():
        known = sorted({p.stem for place in (folder, CLONE / folder) for p in place.glob("*.yaml")})
        raise InputError(
            f"there is no {what} {name!r}{did_you_mean(name, known)} "
            f"(known: {', '.join(known)}; a path to a YAML file works too)"
        )
    return path.as_posix()
