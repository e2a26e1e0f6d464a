"""What changed in PUMS columns from vintage to vintage: names, codes, suppressed answers, dollars.

Facts of Census's data dictionaries 2017-2024 and its errata notes 118, 143, 145 and 146.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.base.errors import InputError, did_you_mean
from modp.base.rows import row_groups


@dataclass(frozen=True)
class Rename:
    """One question under two names; ``recode`` maps those old codes that changed to new ones."""

    old: str
    new: str
    recode: Mapping[int, int] = field(default_factory=dict)

    @property
    def back(self) -> Mapping[int, int] | None:
        """New code -> old code, or None where old codes were merged."""
        back = {new: old for old, new in self.recode.items()}
        return back if len(back) == len(self.recode) else None


BUILT = {1: 1939, **{code: 1920 + 10 * code for code in range(2, 9)}}
BUILT |= dict.fromkeys(range(9, 14), 2000) | dict.fromkeys(range(14, 24), 2010) | {24: 2020}

AREAS = ("PUMA", "MIGPUMA", "POWPUMA")

RENAMES = (
    Rename("ST", "STATE"),
    Rename("TYPE", "TYPEHUGQ"),
    Rename("ACCESS", "ACCESSINET"),
    Rename("JWTR", "JWTRNS", {3: 5, 4: 3, 5: 4}),
    Rename("YBL", "YRBLT", BUILT),
)
"""Questions whose meaning is the same under both names; either may be asked for."""


@dataclass(frozen=True)
class Change:
    """Columns that took the place of others without meaning the same."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    why: str


CHANGES = (
    Change(("WKW",), ("WKWN",), "six classes of weeks until 2018, a number of weeks since 2019"),
    Change(("TAXP",), ("TAXAMT",), "68 classes of dollars until 2017, dollars since 2018"),
    Change(("RELP",), ("RELSHIPP",), "since 2019 same-sex and opposite-sex couples are told apart"),
    Change(("SSMC",), ("CPLT", "HHT2"), "same-sex couples were a question of their own until 2018"),
    Change(("YBL",), ("YRBLT",), "single years since 2005 were merged in 2021"),
    Change(("MLPI", "MLPK"), ("MLPIK",), "two periods of service were merged in 2021"),
    Change(("MLPH", "MLPJ"), ("MLPHJ",), "two periods of service were merged in 2024"),
    Change(("VPS",), ("VPSP",), "periods of service were merged in 2024"),
    Change(("RAC2P",), ("RAC2P19", "RAC2P23"), "the 5-Year file of 2023 holds two lists of races"),
    *(
        Change((area,), (f"{area}10", f"{area}20"), "areas of the censuses of 2010 and of 2020")
        for area in AREAS
    ),
    Change((), ("HHLDRAGEP", "HHLDRRAC1P", "HHLDRHISP"), "since 2021; before, look in the person file"),
    Change((), ("VACDUR", "VACOTH"), "only in 1-Year files since 2021"),
    Change((), ("SMARTPHONE", "HISPEED"), "since 2016"),
    Change(("BUS", "TOIL"), (), "no longer asked since 2020"),
)

HIDDEN = "suppressed by Census"
NO_BILL = "no separate bill"
ELSEWHERE = "not applicable there"

NO_ANSWER: Mapping[str, Mapping[int, str]] = {
    **{column: {888: HIDDEN} for column in ("JWAP", "JWMNP", "MIGSP")},
    **{column: {8: HIDDEN} for column in ("BROADBND", "HISPEED", "OTHSVCEX", "SATELLITE", "DIALUP")},
    **{column: {8: HIDDEN} for column in ("ACCESS", "ACCESSINET", "TEL", "MARHD", "ANC")},
    **{column: {0: HIDDEN} for column in ("ANC1P", "ANC2P")},
    "MIGPUMA": {88888: HIDDEN},
    **{column: {1: NO_BILL, 2: NO_BILL} for column in ("ELEP", "FULP", "WATP")},
    "GASP": {1: NO_BILL, 2: NO_BILL, 3: NO_BILL},
    **{column: {9: ELSEWHERE} for column in ("PLM", "PLMPRP", "RWAT")},
    **{f"{area}{census}": {-9: ELSEWHERE} for area in AREAS for census in (10, 20)},
}
"""Column -> codes that are no answers, and what they mean.

Bills that there are not stood among the dollars until 2017 and are blank since. Code 9 of plumbing
tells Puerto Rico from the rest, or the rest from it.
"""

# fmt: off
BY_INCOME_FACTOR = (
    "FINCP", "HINCP", "INTP", "OIP", "PAP", "PERNP", "PINCP", "RETP", "SEMP", "SSIP", "SSP", "WAGP",
)
BY_HOUSING_FACTOR = (
    "CONP", "ELEP", "FULP", "GASP", "GRNTP", "INSP", "MHP", "MRGP", "RNTP", "SMOCP", "SMP", "TAXAMT",
    "VALP", "WATP",
)
# fmt: on

VALUE_ADJUSTED_SINCE = 2022
"""5-Year files before hold house values (VALP) that are not to be adjusted."""

FACTORS = {
    **dict.fromkeys(BY_INCOME_FACTOR, "ADJINC"),
    **dict.fromkeys(BY_HOUSING_FACTOR, "ADJHSG"),
}
"""Column of dollars -> the column of factors that make years comparable."""

MILLIONTHS_ABOVE = 1000
"""Census writes factors in millionths; files made of Census's may hold them as they are, near 1."""

COMPANIONS = {"WKWN": "WKW"}
"""In 5-Year files of 2019-2022 a worker of an earlier year answered the second, not the first."""


@dataclass(frozen=True)
class Vintage:
    """Of which year a file is, the last of the ``years`` (1 or 5) whose answers it holds."""

    year: int
    years: int


@dataclass(frozen=True)
class Source:
    """The column of a file in which a question stands, and how its codes are to be changed."""

    column: str
    recode: Mapping[int, int] = field(default_factory=dict)

    def recoded(self, values: np.ma.MaskedArray) -> np.ma.MaskedArray:
        """Return the integers (n,) in the codes of the vintage that was asked for."""
        changed = values.copy()
        for old, new in self.recode.items():
            changed[(values == old).filled(False)] = new
        return changed


def sources(wanted: Sequence[str], present: Collection[str], where: str) -> dict[str, Source]:
    """Find each wanted column in a file, under its own name or another vintage's.

    Raises
    ------
    InputError
        listing all the columns that the file lacks, with what it has instead and why that is
        not the same
    """
    found = {column: source(column, present) for column in wanted}
    missing = [column for column, at in found.items() if at is None]
    if missing:
        listing = "\n".join(f"  {column}{_why(column, present)}" for column in missing)
        raise InputError(
            f"{where} lacks {len(missing)} of the columns that are needed:\n{listing}\n"
            "Take another vintage, or list the questions made of them under 'leave_out' in the dataset YAML."
        )
    return {column: at for column, at in found.items() if at}


def source(column: str, present: Collection[str]) -> Source | None:
    """Find one column in a file, under its own name or another vintage's; None if it is not there."""
    if column in present:
        return Source(column)
    for rename in RENAMES:
        if column == rename.new and rename.old in present:
            return Source(rename.old, rename.recode)
        if column == rename.old and rename.new in present and rename.back is not None:
            return Source(rename.new, rename.back)
    return None


def _why(column: str, present: Collection[str]) -> str:
    """What a person should know about a missing column."""
    changes = [c for c in CHANGES if column in c.old + c.new]
    for change in changes:
        instead = [c for c in (change.old if column in change.new else change.new) if c in present]
        if instead:
            return f": the file has {' and '.join(instead)}, which is not the same ({change.why})"
    if changes:
        other = [c for c in changes[0].old + changes[0].new if c not in (column, *_twins(column, changes[0]))]
        return f": {changes[0].why}" + (f" (see {' and '.join(other)})" if other else "")
    names = [r.old if column == r.new else r.new for r in RENAMES if column in (r.old, r.new)]
    if names:
        return f", nor has it {names[0]}, its name in other vintages"
    return did_you_mean(column, present)


def _twins(column: str, change: Change) -> tuple[str, ...]:
    return change.old if column in change.old else change.new


def answers_only(
    column: str, values: np.ma.MaskedArray, known: Collection[int]
) -> tuple[np.ma.MaskedArray, list[str]]:
    """Turn codes that are no answers (``NO_ANSWER``) into blanks.

    Parameters
    ----------
    column : the raw column's name
    values : integers of shape (n,), masked where blank
    known : codes that the question itself gives a category, which stay as they are

    Returns
    -------
    values : the same, with more of it masked
    said : a line for people on each code that was turned into a blank
    """
    said = []
    blank = np.ma.getmaskarray(values).copy()
    for code, meaning in NO_ANSWER.get(column, {}).items():
        hit = (values == code).filled(False)
        if code not in known and hit.any():
            blank |= hit
            said.append(f"{column}: {int(hit.sum()):,} records with {code} ({meaning}) count as blank")
    return np.ma.array(values.data, mask=blank), said


def helpful(columns: Collection[str]) -> list[str]:
    """Return the columns that help to read these, where a file has them: factors and companions."""
    found = [table[c] for table in (FACTORS, COMPANIONS) for c in columns if c in table]
    return [c for c in dict.fromkeys(found) if c not in columns]


def require_complete(raw: Mapping[str, np.ma.MaskedArray], where: str, vintage: Vintage | None) -> None:
    """Check that the columns read mean the same for every record.

    Parameters
    ----------
    raw : the columns read, companions and factors among them where the file has them
    where : names the data, for the message
    vintage : of the files, where it is known

    Raises
    ------
    InputError
        if some records answered a question under another column only, or if dollars of several
        years cannot be made comparable
    """
    for column, companion in COMPANIONS.items():
        if column in raw and companion in raw:
            split = int((np.ma.getmaskarray(raw[column]) & ~np.ma.getmaskarray(raw[companion])).sum())
            if split:
                why = _why(column, [companion])
                raise InputError(
                    f"{where}: {split:,} records have {companion} but no {column}{why}. "
                    "Take another vintage, or list the question under 'leave_out' in the dataset YAML."
                )
    for column in raw:
        if column in FACTORS:
            _require_factor(column, raw.get(FACTORS[column]), where, vintage)


def _require_factor(
    column: str, factor: np.ma.MaskedArray | None, where: str, vintage: Vintage | None
) -> None:
    name = FACTORS[column]
    five = vintage is not None and vintage.years == 5
    if factor is None:
        if five:
            raise InputError(f"{where}: {column} is in dollars of five years; the files lack {name}")
        return
    kinds = np.unique(np.concatenate([np.unique(factor[at].compressed()) for at in row_groups(len(factor))]))
    if five and len(kinds) == 1 and len(factor) > 1 and name == "ADJINC":
        raise InputError(f"{where}: {name} is the same for all records: these are not 5-Year files")
    if not five and len(kinds) > 1:
        raise InputError(
            f"{where}: {name} differs between records, so they are of several years. Of a 5-Year file say so "
            "in the dataset YAML ('year' and 'span: 5-Year'); files of single years cannot be put together."
        )
    if five and (np.ma.getmaskarray(factor).any() or (kinds <= 0).any()):
        raise InputError(f"{where}: {name} is blank or not positive for some records")


def is_adjusted(column: str, vintage: Vintage | None) -> bool:
    """Whether a column of a vintage is in dollars of several years, which are to be made one year's."""
    if vintage is None or vintage.years == 1 or column not in FACTORS:
        return False
    return column != "VALP" or vintage.year >= VALUE_ADJUSTED_SINCE


def in_one_years_dollars(
    column: str, values: np.ma.MaskedArray, raw: Mapping[str, np.ma.MaskedArray], vintage: Vintage | None
) -> np.ma.MaskedArray:
    """Adjust a column of dollars of a 5-Year file.

    Within one year the factor is one number, cannot move a decile, and is left alone, so that
    labels show dollars as reported.

    Parameters
    ----------
    column : the raw column's name
    values : dollars of shape (n,), masked where blank
    raw : the columns read, checked by :func:`require_complete`
    vintage : of the files, where it is known

    Returns
    -------
    whole dollars of the newest year, or ``values`` itself
    """
    if not is_adjusted(column, vintage):
        return values
    factors, adjusted = raw[FACTORS[column]].data, np.empty_like(values.data)
    for at in row_groups(len(values)):
        ratio = np.where(factors[at] > MILLIONTHS_ABOVE, factors[at] / 1e6, factors[at])
        adjusted[at] = np.rint(values.data[at] * ratio)
    return np.ma.array(adjusted, mask=np.ma.getmaskarray(values))
