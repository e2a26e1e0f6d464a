"""The table of tables: which a run makes, in the order of the report, and which may be published."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """What is known of one table.

    public : whether it says nothing but what is measured over many cells or many people; else it shows what
        a few true records answer
    weighted: whether it is made only where the data set names weights
    useful : whether it is made only where the utility of rows is measured, by raw records
    whole : whether it is of whole households, and made only of these
    """

    public: bool = True
    weighted: bool = False
    useful: bool = False
    whole: bool = False


TABLES = {
    "accuracy": Table(),
    "three_way": Table(),
    "interactions": Table(),
    "accuracy_weighted": Table(weighted=True),
    "estimates": Table(public=False, weighted=True),
    "utility": Table(useful=True),
    "analyses": Table(public=False, useful=True),
    "privacy": Table(),
    "attacks": Table(),
    "releases": Table(),
    "mixing": Table(),
    "questions": Table(),
    "answers_by_blade": Table(public=False),
    "repeats": Table(),
    "households": Table(whole=True),
    "household_shares": Table(whole=True),
    "household_privacy": Table(whole=True),
}
