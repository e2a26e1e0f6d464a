"""The types of the package are checked, as configured in pyproject.toml."""

import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.pipeline  # most of a minute where nothing is cached


def test_types_fit():
    checked = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
