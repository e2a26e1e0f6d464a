"""True households: persons are read, brought together by their household's key, coded, some held out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.columns import Made, Raw, at_rows
from modp.base.errors import InputError
from modp.cli.selected import own_table
from modp.cli.whole import Said
from modp.files.options import DETECTED
from modp.files.raw import raw as own_raw
from modp.files.raw import whole
from modp.files.read import read
from modp.models.households import rules
from modp.pums import raw, vintages
from modp.pums.where import Dataset
from modp.survey import coding, households
from modp.survey.households import HOUSEHOLD, MOST, ROLE, Households, disagreement, placed
from modp.survey.questions import QuestionSet
from modp.survey.records import Records

AGE, MARRIED = "AGEP", "MAR"
RELATIONSHIPS = ("RELSHIPP", "RELP")
TYPE = "TYPEHUGQ"
"""The column, under whatever vintage's name, that is 1 for housing units, and not for group quarters."""

MOST_BROKEN = 0.05
"""A rule is wrong, not the households, if more than this share of them break rules."""

OF_PERSONS = "csv_p"
"""How the names of Census's files of persons begin."""


@dataclass(frozen=True)
class Gathered:
    """True households, coded, and where they stand in the files.

    train, holdout : households to learn from, and those that no model sees
    files, home_files : in which the persons stand, and their households' answers; the same if one has both
    rows : int64, where each person of ``train`` stands in ``files``
    home_rows : int64, where each household of ``train`` stands in ``home_files``, or its first person does
    every_row, every_home_row : the same of all households, those held out too
    answers : by level, raw column -> what all records of the files answer, as the question set wants it
    """

    train: Households
    holdout: Households
    files: list[Path]
    home_files: list[Path]
    rows: np.ndarray
    home_rows: np.ndarray
    every_row: np.ndarray
    every_home_row: np.ndarray
    answers: Mapping[str, Raw]


def gathered(
    files: Sequence[Path],
    dataset: Dataset,
    questions: QuestionSet,
    share: float,
    seed: int,
    log: Callable[[str], None],
) -> Gathered:
    """Read files of persons, and of households if there are such, and hold some households out.

    Parameters
    ----------
    questions : of both levels, as the data set wants it
    share : of the households to hold out; at least one is, if it is not 0
    log : is told what was left out

    Raises
    ------
    InputError
        if the files lack the key, or what roles are told by, a household stands twice in its files, or its
        persons disagree on it
    """
    for name in (HOUSEHOLD, ROLE):
        if name in (q.name for q in questions.questions):
            raise InputError(f"a question of households cannot be called {name!r}, a column that is added")
    of_persons, of_homes = (questions.of_level(level) for level in ("person", "household"))
    person_files, home_files = _by_level(files, dataset, of_persons, of_homes)
    key = dataset.household or raw.HOUSEHOLD
    asked = of_persons if home_files else questions
    found = _read(person_files, dataset, asked, (*RELATIONSHIPS, TYPE, AGE, MARRIED), log)
    keys = found[key].filled("")
    roles = _roles(found, keys, person_files[0], log)
    inside = (roles != households.NOWHERE) & (keys != "") & _housed(found)
    log(f"{(~inside).sum():,} persons of group quarters, or without a household's key, are left out")
    homes = found
    if home_files:
        homes = _read(home_files, dataset, of_homes, (TYPE,), log)
        at, inside = _joined(keys, inside, homes, key, log)
    among = np.flatnonzero(inside)
    if not len(among):
        raise InputError(f"{dataset.title}: no person belongs to a household of the files")
    rows, starts, said = placed(keys[inside], roles[inside], dataset.most or MOST)
    rows = among[rows]
    head = rows[starts[:-1]]
    if not home_files:
        _require_agreement(found, of_homes, rows, np.repeat(head, np.diff(starts)))
    home_rows = at[head] if home_files else head
    size = len(starts) - 1
    log(f"{size:,} households of {len(rows):,} persons; left out: {said or 'none'}")
    order = seeds.generator(seed, "holdout").permutation(size)
    held = max(1, round(share * size)) if share else 0
    train = np.ones(size, bool)
    train[order[:held]] = False
    if not train.any():
        raise InputError(f"{dataset.title}: 'holdout: {share}' leaves no household to learn from")
    jitter = seeds.generator(seed, "deciles")

    def coded(values: Raw, of: QuestionSet, at: np.ndarray, kept: np.ndarray) -> Records:
        say = log if dataset.unknown == "category" else None
        return Records(*coding.code(at_rows(values, at), of, jitter, say, kept, log))

    persons = coded(found, of_persons, rows, np.repeat(train, np.diff(starts)))
    everybody = Households(
        persons, coded(homes, of_homes, home_rows, train), starts, roles[rows].astype(np.int8)
    )
    known = (everybody.homes.codes != coding.UNKNOWN).all(axis=1)
    known[everybody.household[(persons.codes == coding.UNKNOWN).any(axis=1)]] = False
    if not known.all():
        log(f"{(~known).sum():,} households are not held out, but left out: no other answers like them")
    good = _keeping(everybody, questions, log)
    train, known = train & good, known & good
    if not train.any():
        raise InputError(f"{dataset.title}: no household is left to learn from")
    own, others = np.flatnonzero(train), np.flatnonzero(~train & known)
    of_train = np.repeat(train, np.diff(starts))
    files_of = person_files, home_files or person_files
    of_own = rows[of_train], home_rows[own]
    answers = {"person": found, "household": homes}
    return Gathered(everybody[own], everybody[others], *files_of, *of_own, rows, home_rows, answers)


def _keeping(everybody: Households, questions: QuestionSet, log: Callable[[str], None]) -> np.ndarray:
    """Which households hold what the question set calls impossible, and are left out: those that do not."""
    found = rules.broken(Said.of(questions).members, everybody)
    bad = np.zeros(len(everybody), bool)
    for told, mine in found.items():
        bad |= mine
        log(f"{mine.sum():,} households are left out that hold what is called impossible: {told}")
    if bad.mean() > MOST_BROKEN:
        raise InputError(
            f"{bad.sum():,} of {len(bad):,} true households hold what the question set calls impossible "
            f"({'; '.join(found)}): then it is not. Take such a rule out, or mend what it says"
        )
    return ~bad


def _by_level(
    files: Sequence[Path], dataset: Dataset, of_persons: QuestionSet, of_homes: QuestionSet
) -> tuple[list[Path], list[Path]]:
    """The files of persons, and those of households: none where the former carry the answers of both."""
    if dataset.census:
        mine = [path.name.startswith(OF_PERSONS) for path in files]
    else:
        lacking = [_lacking(path, dataset, of_persons.columns) for path in files]
        mine = [not names for names in lacking]
        for path, names in zip(files, lacking, strict=True):
            others = _lacking(path, dataset, of_homes.columns)
            if names and others:
                raise InputError(
                    f"{path} is neither of persons nor of households: it lacks {', '.join(names[:5])} of the "
                    f"persons' columns, and {', '.join(others[:5])} of the households'"
                )
    persons, homes = ([p for p, own in zip(files, mine, strict=True) if own == of] for of in (True, False))
    if not persons:
        raise InputError(f"{dataset.title}: no file has the columns of persons' questions")
    return persons, homes


def _lacking(path: Path, dataset: Dataset, columns: Sequence[str]) -> list[str]:
    names = read(path, dataset.table or DETECTED, columns=())[1].names
    if dataset.table is not None:
        return [column for column in columns if column not in names]
    capitals = [name.strip().upper() for name in names]
    return [column for column in columns if not vintages.source(column, capitals)]


def _read(
    files: Sequence[Path],
    dataset: Dataset,
    questions: QuestionSet,
    besides: Sequence[str],
    log: Callable[[str], None],
) -> Raw:
    """The columns of questions, the key as words, and those of ``besides`` that there are, whole numbers."""
    key = dataset.household or raw.HOUSEHOLD
    if dataset.table is not None:
        table, _ = own_table(files, dataset, dataset.table)
        where = ", ".join(map(str, files))
        own = dict(own_raw(table, questions, where))
        others = [name for name in besides if name in table.names and name not in own]
        own |= {name: whole(table[name], where) for name in others}
        found: Raw = own | ({key: table[key].words} if key in table.names else {})
    else:
        read_ = raw.raw_records(list(files), dataset, questions, besides)
        of_questions = raw.prepared(read_, dataset, questions, log)
        found = Made(list(read_), lambda name: (of_questions if name in of_questions else read_)[name])
    if key not in found:
        raise InputError(
            f"{files[0]} has no column {key!r}: say which one names the household, by the dataset YAML's key "
            "'household' or by --key"
        )
    return found


def _roles(found: Raw, keys: np.ndarray, where: Path, log: Callable[[str], None]) -> np.ndarray:
    """What each person is in his or her household, int8 (n,)."""
    told = next((name for name in RELATIONSHIPS if name in found), None)
    if told:
        log(f"roles are those of {told}")
        return households.roles_of(found[told].filled(-1).astype(np.int64), told)
    if AGE in found and MARRIED in found:
        log(f"there is no {' or '.join(RELATIONSHIPS)}: roles are told by order, {AGE} and {MARRIED}")
        return households.told(keys, *(found[name].filled(-1).astype(np.int64) for name in (AGE, MARRIED)))
    raise InputError(f"{where} has neither {' nor '.join(RELATIONSHIPS)}, nor {AGE} and {MARRIED}")


def _housed(found: Raw) -> np.ndarray | bool:
    return found[TYPE].filled(1) == 1 if TYPE in found else True


def _joined(
    keys: np.ndarray, inside: np.ndarray, homes: Raw, key: str, log: Callable[[str], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Each person's row in the households' files, -1 for none, and who has one outside group quarters."""
    names = homes[key].filled("")
    kinds, first, often = np.unique(names, return_index=True, return_counts=True)
    twice = kinds[(often > 1) & (kinds != "")]
    if len(twice):
        raise InputError(
            f"{key} {twice[0]} stands in {often.max():,} records of households: it must be theirs"
        )
    place = dict(zip(kinds.tolist(), first.tolist(), strict=True))
    at = np.array([place.get(name, -1) for name in keys.tolist()], np.int64)
    lost = inside & (at < 0)
    if lost.any():
        log(f"{lost.sum():,} persons are left out, of whose household there is no record")
    inside = inside & (at >= 0)
    housed = np.broadcast_to(_housed(homes), names.shape)
    quarters = inside & ~housed[at]
    if quarters.any():
        log(f"{quarters.sum():,} persons of group quarters are left out")
    without = len(np.setdiff1d(np.flatnonzero(names != ""), at[at >= 0]))
    if without:
        log(f"{without:,} records of households are left out that no person belongs to, as vacant units")
    return at, inside & ~quarters


def _require_agreement(found: Raw, questions: QuestionSet, rows: np.ndarray, heads: np.ndarray) -> None:
    """Raise InputError where persons differ from their householder in what is the household's."""
    differ = []
    for name in questions.columns:
        blank = np.ma.getmaskarray(found[name])
        same = (found[name].data[rows] == found[name].data[heads]) | blank[rows]
        if not (same & (blank[rows] == blank[heads])).all():
            differ.append(name)
    if differ:
        raise disagreement(differ)
