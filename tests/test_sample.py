import importlib.util
import zipfile

import pandas as pd
from conftest import ROOT, shared

from modp.base.config import load
from modp.survey.questions import QuestionSet

spec = importlib.util.spec_from_file_location("remake", ROOT / "workflow/scripts/remake_sample.py")
remake = importlib.util.module_from_spec(spec)
spec.loader.exec_module(remake)


def test_true_persons_are_written_as_census_does_but_live_nowhere(tmp_path):
    persons = pd.DataFrame(
        {
            "SERIALNO": ["2021GQ01", "2021HU02"],
            "SPORDER": [1, 2],
            "ST": ["WY", "AK"],
            "PUMA": ["00200", "00300"],
            "ADJINC": [1.029928, 1.029928],
            "PWGTP": [39, 45],
            "SCHL": [14.0, None],
            "HISP": [1, 2],
        }
    )
    table = remake.census_table(persons, ["SCHL"])
    remake.write_zip(tmp_path / "a.zip", table)
    remake.write_zip(tmp_path / "b.zip", table)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        lines = archive.read("psam_p00.csv").decode().splitlines()
    assert lines == [
        "RT,SERIALNO,DIVISION,SPORDER,PUMA,REGION,ST,ADJINC,PWGTP,SCHL",
        "P,2021GQ01,0,1,00100,9,00,1029928,39,14",
        "P,2021HU02,0,2,00100,9,00,1029928,45,",
    ]


def test_the_samples_adults_are_hardly_ever_true_ones_and_earn_no_more_than_its_income():
    asked = load(ROOT / "workflow/questions/stums.yaml", QuestionSet).columns
    sample = pd.read_csv(remake.SAMPLE)
    assert len(sample) == remake.SIZE and set(sample["ST"]) == {0}
    known = sample.dropna(subset=["PERNP", "PINCP"])
    assert (known["PERNP"] <= known["PINCP"]).all()
    adults = sample[sample["AGEP"] >= 20]
    assert adults[["PINCP", "PERNP", "ESR"]].notna().all().all()
    true = pd.read_parquet(shared("data/person_2021_ak_wv_wy.parquet"), columns=list(asked))
    both = (frame[list(asked)].fillna(-1).astype(float) for frame in (true, sample))
    people, made = (part[part["AGEP"] >= 20].drop_duplicates() for part in both)
    alike = made.merge(people, how="inner")
    assert len(alike) < 0.003 * len(adults), "as of small children, so of the retired some are asked little"
