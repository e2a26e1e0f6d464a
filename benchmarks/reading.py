"""Print how long reading and coding take at the size of a large state's file, and of five years' of it.

The files are made of a real Census zip's rows, repeated: python benchmarks/reading.py csv_pwy.zip
"""

import argparse
import io
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SIZES = {"300,000 records, one year": 300_000, "1,326,295 records, as Texas in five years": 1_326_295}


def enlarged(source: Path, target: Path, rows: int) -> int:
    """Write a zip whose one CSV has ``rows`` rows of the source's; return the number of columns."""
    with zipfile.ZipFile(source) as archive:
        member = next(m for m in archive.namelist() if m.lower().endswith(".csv"))
        header, *lines = archive.read(member).splitlines(keepends=True)
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("psam_p56.csv", "w", force_zip64=True) as file,
        io.BufferedWriter(file, 1 << 20) as buffer,
    ):
        buffer.write(header)
        for i in range(rows):
            buffer.write(lines[i % len(lines)])
    return header.count(b",") + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zip", type=Path, help="a person file as Census serves it")
    source = parser.parse_args().zip.resolve()
    print("| file | columns | zip MB | seconds to codes | peak GB |\n|---|--:|--:|--:|--:|")
    for name, rows in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "csv_pwy.zip")
            columns = enlarged(source, target, rows)
            dataset = Path(folder, "d.yaml")
            dataset.write_text(f"title: t\nquestions: stums\nfiles: ['{target}']\n")
            began = time.perf_counter()
            command = [sys.executable, "-m", "modp", "code", "--files", str(target), "--seed", "1"]
            command += ["--dataset", str(dataset), "--questions", str(ROOT / "workflow/questions/stums.yaml")]
            command += ["--records", f"{folder}/records.parquet", "--codebook", f"{folder}/codebook.json"]
            command += ["--holdout", f"{folder}/holdout.parquet", "--share", "0.2"]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL, cwd=ROOT)
            seconds = time.perf_counter() - began
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
            megabytes = target.stat().st_size / 1e6
            print(f"| {name} | {columns} | {megabytes:.0f} | {seconds:.1f} | {peak:.2f} |", flush=True)


if __name__ == "__main__":
    main()
