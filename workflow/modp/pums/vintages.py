"""What changed in PUMS columns from vintage to vintage: names, codes, suppressed answers, dollars.

Facts of Census's data dictionaries 2017-2024 and its errata notes 118, 143, 145 and 146.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from modp.errors import InputError, did_you_mean


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
    Change(("PUMA",), ("PUMA10", "PUMA20"), "the 5-Year file of 2022 holds the areas of two censuses"),
    Change(("PUMA",), ("PUMA00", "PUMA10"), "5-Year files of 2012-2015 hold the areas of two censuses"),
    Change((), ("HHLDRAGEP", "HHLDRRAC1P", "HHLDRHISP"), "since 2021; before, look in the person file"),
    Change((), ("VACDUR", "VACOTH"), "only in 1-Year files since 2021"),
    Change((), ("SMARTPHONE", "HISPEED"), "since 2016"),
    Change(("BUS", "TOIL"), (), "no longer asked since 2020"),
)

SUPPRESSED = {
    "JWAP": 888,
    "JWMNP": 888,
    "MIGSP": 888,
    "MIGPUMA": 88888,
    "ANC1P": 0,
    "ANC2P": 0,
    **dict.fromkeys(("BROADBND", "HISPEED", "OTHSVCEX", "SATELLITE", "DIALUP"), 8),
    **dict.fromkeys(("ACCESS", "ACCESSINET", "TEL", "MARHD", "ANC"), 8),
}
"""Column -> the code by which Census hides the answers of some areas."""

NO_BILL = {
    "ELEP": (1, 2),
    "FULP": (1, 2),
    "WATP": (1, 2),
    "GASP": (1, 2, 3),
}
"""Until 2017 "in the rent" and "no charge" were written among the dollars; blank since 2018."""

BY_INCOME_FACTOR = frozenset(
    ["FINCP", "HINCP", "INTP", "OIP", "PAP", "PERNP", "PINCP", "RETP", "SEMP", "SSIP", "SSP", "WAGP"]
)
BY_HOUSING_FACTOR = frozenset(
    [
        "CONP",
        "ELEP",
        "FULP",
        "GASP",
        "GRNTP",
        "INSP",
        "MHP",
        "MRGP",
        "RNTP",
        "SMOCP",
        "SMP",
        "TAXAMT",
        "VALP",
        "WATP",
    ]
)
VALUE_ADJUSTED_SINCE = 2022
"""5-Year files before hold house values (VALP) that are not to be adjusted."""

FACTORS = {
    **dict.fromkeys(sorted(BY_INCOME_FACTOR), "ADJINC"),
    **dict.fromkeys(sorted(BY_HOUSING_FACTOR), "ADJHSG"),
}
"""Column of dollars -> the column of factors that make years comparable."""

MILLIONTHS_ABOVE = 1000
"""Census writes factors in millionths; files made of Census's may hold them as they are, near 1."""

COMPANIONS = {"WKWN": "WKW"}
"""In 5-Year files of 2019-2022 a worker of an earlier year answered the second, not the first."""


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
            f"Take another vintage, or leave questions out: leave_out: [{', '.join(missing)}] in the "
            "dataset YAML."
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
    return did_you_mean(column, present)


def _twins(column: str, change: Change) -> tuple[str, ...]:
    return change.old if column in change.old else change.new


def without_suppressed(
    column: str, values: np.ma.MaskedArray, known: Iterable[int]
) -> tuple[np.ma.MaskedArray, list[str]]:
    """Turn suppressed answers, and bills that were none, into blanks.

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
    codes = {SUPPRESSED[column]: "suppressed by Census"} if column in SUPPRESSED else {}
    codes |= dict.fromkeys(NO_BILL.get(column, ()), "no separate bill")
    said = []
    blank = np.ma.getmaskarray(values).copy()
    for code in sorted(set(codes) - set(known)):
        hit = (values == code).filled(False)
        if hit.any():
            blank |= hit
            said.append(f"{column}: {int(hit.sum()):,} records with {code} ({codes[code]}) count as blank")
    return np.ma.array(values.data, mask=blank), said


def require_complete(raw: Mapping[str, np.ma.MaskedArray], where: str, years: int) -> None:
    """Check that the columns read mean the same for every record.

    Parameters
    ----------
    raw : the columns read, companions and factors among them where the file has them
    where : names the data, for the message
    years : how many years of answers the file holds, 1 or 5

    Raises
    ------
    InputError
        if some records answered a question under another column only, or if dollars of several
        years come without the factors that make them comparable
    """
    for column in raw:
        factor = FACTORS.get(column)
        if years > 1 and factor and factor not in raw:
            raise InputError(f"{where}: {column} is in dollars of {years} years; the files lack {factor}")
    for column, companion in COMPANIONS.items():
        if column not in raw or companion not in raw:
            continue
        mask = np.ma.getmaskarray
        split = int((mask(raw[column]) & ~mask(raw[companion])).sum())
        if split:
            raise InputError(
                f"{where}: {split:,} records have {companion} but no {column}{_why(column, [companion])}. "
                f"Take another vintage, or leave the question out: leave_out: [{column}] in the dataset YAML."
            )


def in_one_years_dollars(
    column: str, values: np.ma.MaskedArray, raw: Mapping[str, np.ma.MaskedArray], year: int | None
) -> np.ma.MaskedArray:
    """Adjust a column of dollars where the records are of several years.

    Within one year the factor is one number, cannot move a decile, and is left alone, so that
    labels show dollars as reported.

    Parameters
    ----------
    column : the raw column's name
    values : dollars of shape (n,), masked where blank
    raw : the columns read, ADJINC and ADJHSG among them where the file has them
    year : the vintage, where it is known

    Returns
    -------
    whole dollars of the newest year, or ``values`` itself
    """
    factor = raw.get(FACTORS.get(column, ""))
    as_reported = column == "VALP" and year is not None and year < VALUE_ADJUSTED_SINCE
    if factor is None or as_reported or len(np.unique(factor.compressed())) < 2:
        return values
    ratio = factor.filled(1.0)
    ratio = np.where(ratio > MILLIONTHS_ABOVE, ratio / 1e6, ratio)
    adjusted = np.rint(values.data * ratio).astype(values.dtype)
    return np.ma.array(adjusted, mask=np.ma.getmaskarray(values))
