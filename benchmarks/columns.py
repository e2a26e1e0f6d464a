"""Code every column of a CSV file that has 2 to 60 values as it stands: a wide table for other benchmarks.

Blanks are a category of their own. Left out are all other columns, among them numbers and keys, and replicate
weights. The codebook is written beside the records.

Run: python benchmarks/columns.py csv_pwy.zip results/wide.parquet
     python benchmarks/learning.py --sizes 4688 --methods population balanced results/wide.parquet
"""

import argparse
import re
import zipfile
from pathlib import Path

import pandas as pd

from modp import Records

FEWEST, MOST = 2, 60
REPLICATE = re.compile(r"P?WGTP\d+", re.IGNORECASE)


def text(path: Path) -> pd.DataFrame:
    """Every column of a CSV file, or of the first one in an archive, as it is written."""
    if path.suffix != ".zip":
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".csv"))
        with archive.open(name) as file:
            return pd.read_csv(file, dtype=str, keep_default_na=False)


def coded(frame: pd.DataFrame) -> Records:
    values = frame.nunique()
    wanted = [c for c in frame.columns if FEWEST <= values[c] <= MOST and not REPLICATE.fullmatch(c)]
    return Records.from_frame(frame[wanted].replace("", "blank"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("records", type=Path)
    options = parser.parse_args()
    records = coded(text(options.file))
    options.records.parent.mkdir(parents=True, exist_ok=True)
    records.write(options.records)
    options.records.with_suffix(".json").write_text(records.codebook.to_json(), encoding="utf-8")
    categories = records.block_starts[-1]
    print(f"{len(records):,} records of {records.codes.shape[1]} questions, {categories:,} categories")


if __name__ == "__main__":
    main()
