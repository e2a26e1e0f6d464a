"""The places that PUMS files are of: states by postal code, and the national files' parts."""

NATION = "us"
NOT_IN_NATION = ("pr",)

STATES = {
    "al": (1, "Alabama"),
    "ak": (2, "Alaska"),
    "az": (4, "Arizona"),
    "ar": (5, "Arkansas"),
    "ca": (6, "California"),
    "co": (8, "Colorado"),
    "ct": (9, "Connecticut"),
    "de": (10, "Delaware"),
    "dc": (11, "District of Columbia"),
    "fl": (12, "Florida"),
    "ga": (13, "Georgia"),
    "hi": (15, "Hawaii"),
    "id": (16, "Idaho"),
    "il": (17, "Illinois"),
    "in": (18, "Indiana"),
    "ia": (19, "Iowa"),
    "ks": (20, "Kansas"),
    "ky": (21, "Kentucky"),
    "la": (22, "Louisiana"),
    "me": (23, "Maine"),
    "md": (24, "Maryland"),
    "ma": (25, "Massachusetts"),
    "mi": (26, "Michigan"),
    "mn": (27, "Minnesota"),
    "ms": (28, "Mississippi"),
    "mo": (29, "Missouri"),
    "mt": (30, "Montana"),
    "ne": (31, "Nebraska"),
    "nv": (32, "Nevada"),
    "nh": (33, "New Hampshire"),
    "nj": (34, "New Jersey"),
    "nm": (35, "New Mexico"),
    "ny": (36, "New York"),
    "nc": (37, "North Carolina"),
    "nd": (38, "North Dakota"),
    "oh": (39, "Ohio"),
    "ok": (40, "Oklahoma"),
    "or": (41, "Oregon"),
    "pa": (42, "Pennsylvania"),
    "ri": (44, "Rhode Island"),
    "sc": (45, "South Carolina"),
    "sd": (46, "South Dakota"),
    "tn": (47, "Tennessee"),
    "tx": (48, "Texas"),
    "ut": (49, "Utah"),
    "vt": (50, "Vermont"),
    "va": (51, "Virginia"),
    "wa": (53, "Washington"),
    "wv": (54, "West Virginia"),
    "wi": (55, "Wisconsin"),
    "wy": (56, "Wyoming"),
    "pr": (72, "Puerto Rico"),
}
"""Postal code -> (FIPS code, name)."""

PARTS = {"1-Year": "ab", "5-Year": "abcd"}
"""The letters of the CSVs in one national zip."""


def fips(states: list[str]) -> dict[int, str]:
    """Return FIPS code -> name of the states, ``us`` standing for all that its files hold."""
    codes = [s for state in states for s in (NATION_STATES if state == NATION else [state])]
    return dict(sorted(STATES[code] for code in codes))


NATION_STATES = [state for state in STATES if state not in NOT_IN_NATION]
