"""Households and the persons who live in them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from modp.base.errors import InputError
from modp.base.output import written
from modp.survey import records
from modp.survey.codebook import Codebook
from modp.survey.ragged import members
from modp.survey.records import Records

if TYPE_CHECKING:
    import pandas as pd


class Codebooks(NamedTuple):
    """What the answers of persons and those of their households mean."""

    persons: Codebook
    homes: Codebook

    @property
    def digest(self) -> str:
        """Both codebooks' digests."""
        return f"{self.persons.digest} {self.homes.digest}"


ROLES = ("householder", "spouse", "child", "other")
HOUSEHOLDER, SPOUSE, CHILD, OTHER = range(4)

HOUSEHOLD, ROLE = "household", "role"
"""Columns of a table of persons who belong together, after their answers."""

NOWHERE = -1
"""The role of who lives in no household, but in group quarters."""

_CHILDREN, _OTHERS = dict.fromkeys((25, 26, 27), CHILD), dict.fromkeys((22, 24, *range(28, 37)), OTHER)
RELSHIPP: Mapping[int, int] = {20: HOUSEHOLDER, 21: SPOUSE, 23: SPOUSE, **_CHILDREN, **_OTHERS}
"""Role of each code of the relationship to the householder, from 2019 on. A spouse is married, an unmarried
partner another; children are one's own, adopted and the spouse's, of any age, but no foster children.
"""

RELP: Mapping[int, int] = {0: HOUSEHOLDER, 1: SPOUSE, 2: CHILD, 3: CHILD, 4: CHILD} | dict.fromkeys(
    range(5, 16), OTHER
)
"""The same for the relationship's codes until 2018."""

PARENT = range(15, 51)
"""Years by which a householder may be older than who is taken for his or her child."""

ALONE = 30
"""Age in years from which on who was or is married is not taken for a child of the household."""

MARRIED, NEVER = 1, 5
"""Codes of marital status."""

MOST = 8
"""Persons of the largest household that is taken, by default."""


@dataclass(frozen=True)
class Households:
    """M households of N persons in all.

    persons : N records, those of a household side by side, the householder first, then spouse, children and
        others, each kind in the order of the file
    homes : M records of the households themselves
    starts : int64 (M + 1,), where each household's persons begin
    roles : int8 (N,), the places of the persons' roles in ``ROLES``
    """

    persons: Records
    homes: Records
    starts: np.ndarray
    roles: np.ndarray

    def __len__(self) -> int:
        """Number of households, M."""
        return len(self.homes)

    def __getitem__(self, rows: np.ndarray) -> "Households":
        """Return the households at these rows, each as often as it is named."""
        of, starts = members(self.starts, rows)
        return Households(self.persons[of], self.homes[rows], starts, self.roles[of])

    def of(self, persons: np.ndarray, homes: np.ndarray) -> "Households":
        """Return households of the same members with other answers: codes (N, Q) and (M, G)."""
        return Households(self.persons.of(persons), self.homes.of(homes), self.starts, self.roles)

    @property
    def codebook(self) -> Codebooks:
        """What the answers mean."""
        return Codebooks(self.persons.codebook, self.homes.codebook)

    @property
    def sizes(self) -> np.ndarray:
        """Persons of each household, int64 (M,)."""
        return np.diff(self.starts)

    @property
    def household(self) -> np.ndarray:
        """Each person's household, int64 (N,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def numbers(self) -> np.ndarray:
        """Members of each role, int64 (M, 4): the households' compositions."""
        places = self.household * len(ROLES) + self.roles
        return np.bincount(places, minlength=len(self) * len(ROLES)).reshape(-1, len(ROLES))

    @property
    def composition(self) -> np.ndarray:
        """The number of each household's composition, int64 (M,), ordered by the members of each role."""
        return np.unique(self.numbers, axis=0, return_inverse=True)[1].ravel()

    def write(self, persons: Path, homes: Path, extra: Mapping[str, np.ndarray] | None = None) -> None:
        """Write two tables as Parquet, each whole or not at all.

        After the persons' answers come ``household``, the row of each one's household, and ``role``, the
        place in ``ROLES``; after the households' those of ``extra``.
        """
        with written(persons) as path:
            self.persons.write(path, {HOUSEHOLD: self.household, ROLE: self.roles})
        with written(homes) as path:
            self.homes.write(path, extra)

    @classmethod
    def read(
        cls, persons: Path, homes: Path, books: Codebooks, extra: Sequence[str] = ()
    ) -> tuple["Households", dict[str, np.ndarray]]:
        """Read what :meth:`write` wrote, the households' further columns too.

        Raises
        ------
        InputError
            if the tables are of other questions or categories, or do not belong together
        """
        codes, of = records.read(persons, books.persons, [HOUSEHOLD, ROLE])
        home_codes, more = records.read(homes, books.homes, extra)
        household, size = of[HOUSEHOLD], len(home_codes)
        if (np.diff(household) < 0).any() or not np.array_equal(np.unique(household), np.arange(size)):
            raise InputError(f"{persons} and {homes} do not belong together: make both anew")
        starts = np.concatenate([[0], np.cumsum(np.bincount(household, minlength=size))])
        own = Records(codes, books.persons), Records(home_codes, books.homes)
        return cls(*own, starts, of[ROLE].astype(np.int8)), more

    def to_frames(self) -> tuple["pd.DataFrame", "pd.DataFrame"]:
        """Return a frame of the persons and one of the households.

        They are joined by SERIALNO, which numbers the households from 1; SPORDER numbers a household's
        persons, ROLE says what they are. The households' frame has the number of persons, NP.
        """
        homes, persons = self.homes.to_frame(), self.persons.to_frame()
        homes.insert(0, "SERIALNO", np.arange(len(self)) + 1)
        homes.insert(1, "NP", self.sizes)
        persons.insert(0, "SERIALNO", self.household + 1)
        persons.insert(1, "SPORDER", np.arange(len(self.roles)) - np.repeat(self.starts[:-1], self.sizes) + 1)
        persons.insert(2, "ROLE", np.array(ROLES)[self.roles])
        return persons, homes

    @classmethod
    def from_frame(
        cls,
        frame: "pd.DataFrame",
        *,
        key: str,
        household: Sequence[str],
        relationship: str | None = None,
        age: str | None = None,
        married: str | None = None,
        most: int = MOST,
    ) -> tuple["Households", str]:
        """Take households from a frame of persons, who carry their household's answers.

        Parameters
        ----------
        frame : a line a person. Columns that are not named below are the persons' questions, as
            :meth:`Records.from_frame` takes them; those named are not, except ``married``
        key : the column of the household's key; persons with one key are of one household
        household : columns of the household's own questions, the same for all of its persons
        relationship : the column of the relationship to the householder, in the codes of RELSHIPP or RELP
        age, married : without such a column, those of the age in years and of the marital status in Census's
            codes (1 for married, 5 for never married), by which roles are told, see :func:`told`
        most : persons of the largest household that is taken

        Returns
        -------
        households
        said : what was left out

        Raises
        ------
        InputError
            if a column is missing or cannot be a question, if a key is blank, if roles cannot be told, if
            members disagree on their household, or no household is left
        """
        named = [key, *household, relationship, age, married]
        missing = [str(name) for name in named if name is not None and name not in frame]
        if missing or (relationship is None and (age is None or married is None)):
            raise InputError(
                f"the frame has no column {', '.join(missing)}"
                if missing
                else "roles are told by 'relationship', or by both 'age' and 'married': name their columns"
            )
        keys = frame[key].to_numpy()
        if frame[key].isna().any():
            raise InputError(f"the frame's column {key} is blank somewhere: leave persons without it out")
        aside = {key, *household, relationship, age}
        questions = [name for name in frame.columns if name not in aside]
        if relationship is not None:
            roles = roles_of(_whole(frame, relationship), relationship)
        else:
            roles = told(keys, _whole(frame, str(age)), _whole(frame, str(married)))
        persons = Records.from_frame(frame[questions])
        homes = Records.from_frame(frame[list(household)])
        found, _, said = gathered(persons, homes, keys, roles, most)
        return found, said


def _whole(frame: "pd.DataFrame", name: str) -> np.ndarray:
    """A column of whole numbers, int64."""
    try:
        return frame[name].astype("string").astype("Float64").astype("Int64").to_numpy(np.int64)
    except (TypeError, ValueError):
        raise InputError(
            f"the frame's column {name} must hold whole numbers, without blanks, as roles are told by it"
        ) from None


def roles_of(relationship: np.ndarray, column: str = "RELSHIPP") -> np.ndarray:
    """Return the roles, int8 (n,), that codes of RELSHIPP or RELP mean; ``NOWHERE`` in group quarters.

    Which of the two they are is told by their size: those of RELSHIPP begin at 20.

    Raises
    ------
    InputError
        if there are other codes
    """
    newer = bool((relationship >= 20).any())
    codes = {**RELSHIPP, 37: NOWHERE, 38: NOWHERE} if newer else {**RELP, 16: NOWHERE, 17: NOWHERE}
    strange = sorted(set(np.unique(relationship).tolist()) - set(codes))
    if strange:
        raise InputError(
            f"{column} holds {strange[:5]}, which is no relationship of {'RELSHIPP' if newer else 'RELP'}"
        )
    table = np.full(max(codes) + 1, NOWHERE, np.int8)
    table[list(codes)] = list(codes.values())
    return table[relationship]


def told(keys: np.ndarray, age: np.ndarray, married: np.ndarray) -> np.ndarray:
    """Tell roles by age and marital status, where no relationship is known: int8 (n,).

    The first person of a household is the householder. If he or she is married, the spouse is the first other
    married person less than ``PARENT``'s least years apart or, without one, the first other married person of
    15 years or older. Children are ``PARENT`` years younger than the householder and, from 30 years of age
    on, never married.

    Parameters
    ----------
    keys : of the households, (n,)
    age : in years
    married : marital status, 1 for married, 5 for never married
    """
    household, order, starts = _together(keys)
    roles = np.full(len(keys), OTHER, np.int8)
    head = order[starts[:-1]]
    roles[head] = HOUSEHOLDER
    older = age[head][household] - age
    roles[(roles == OTHER) & np.isin(older, PARENT) & ((age < ALONE) | (married == NEVER))] = CHILD
    can = (roles != HOUSEHOLDER) & (married == MARRIED) & (married[head][household] == MARRIED)
    near = can & (np.abs(older) < PARENT.start)
    for candidates in (near, can & (age >= PARENT.start)):
        rows = order[candidates[order]]
        first = rows[np.unique(household[rows], return_index=True)[1]]
        has = np.zeros(len(starts) - 1, bool)
        has[household[roles == SPOUSE]] = True
        roles[first[~has[household[first]]]] = SPOUSE
    return roles


def _together(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number households by their first appearance.

    Returns
    -------
    household : int64 (n,), each person's
    order : int64 (n,), persons household by household, in the order of the file
    starts : int64 (M + 1,), where each one begins in ``order``
    """
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(first))
    household = place[inverse.ravel()]
    starts = np.concatenate([[0], np.cumsum(np.bincount(household, minlength=len(first)))])
    return household, np.argsort(household, kind="stable"), starts


def gathered(
    persons: Records, homes: Records, keys: np.ndarray, roles: np.ndarray, most: int = MOST
) -> tuple[Households, np.ndarray, str]:
    """Bring the persons of each household together.

    Parameters
    ----------
    persons : n records
    homes : the household's answers, by person: n records
    keys : of the households, (n,)
    roles : int8 (n,), ``NOWHERE`` for persons of group quarters, who are left out
    most : persons of the largest household that is taken

    Returns
    -------
    households
    rows : int64 (N,), each person's row among the n
    said : what was left out

    Raises
    ------
    InputError
        if members disagree on their household's answers, or no household is left
    """
    rows, starts, said = placed(keys, roles, most)
    head = rows[starts[:-1]]
    differ = (homes.codes[rows] != homes.codes[np.repeat(head, np.diff(starts))]).any(axis=0)
    if differ.any():
        names = [name for name, bad in zip(homes.codebook.names, differ, strict=True) if bad]
        raise disagreement(names)
    found = Households(persons[rows], homes[head], starts, roles[rows].astype(np.int8))
    return found, rows, said


def disagreement(names: Sequence[str]) -> InputError:
    """Return what is to be raised where members differ in questions or columns of their household."""
    return InputError(f"persons of one household disagree on {', '.join(names)}: is it the household's?")


def placed(keys: np.ndarray, roles: np.ndarray, most: int = MOST) -> tuple[np.ndarray, np.ndarray, str]:
    """Put the persons of each household side by side, as :class:`Households` has them.

    Parameters
    ----------
    keys, roles, most : as :func:`gathered` takes them

    Returns
    -------
    rows : int64 (N,), of the persons
    starts : int64 (M + 1,), where each household's begin among them
    said : what was left out

    Raises
    ------
    InputError
        if no household is left
    """
    household, order, starts = _together(keys)
    sizes, size = np.diff(starts), len(starts) - 1
    quarters = np.bincount(household, roles == NOWHERE, size) > 0
    heads, spouses = (np.bincount(household, roles == role, size) for role in (HOUSEHOLDER, SPOUSE))
    odd = ~quarters & ((heads != 1) | (spouses > 1))
    large = ~quarters & ~odd & (sizes > most)
    kept = ~(quarters | odd | large)
    if not kept.any():
        raise InputError("no household is left: each needs one householder, and not too many members")
    lost = {
        "group quarters": quarters,
        f"households of more than {most} persons": large,
        "households without one householder, or with several spouses": odd,
    }
    said = "; ".join(
        f"{which.sum():,} {what} ({sizes[which].sum():,} persons)"
        for what, which in lost.items()
        if which.any()
    )
    rows = order[kept[household[order]]]
    rows = rows[np.lexsort((roles[rows], household[rows]))]
    return rows, np.concatenate([[0], np.cumsum(sizes[kept])]), said
