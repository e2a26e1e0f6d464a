"""What the command line offers: commands for people and steps of the pipeline stand apart."""

import re
import tomllib

import pytest
from conftest import ROOT

from modp.__main__ import main
from modp.pipeline.steps import STEPS, For

ALONE = {"init", "synthesize", "impute", "households"}
"""Commands that take a table of somebody's own."""


@pytest.fixture
def shown(capsys) -> str:
    with pytest.raises(SystemExit):
        main(["--help"])
    return capsys.readouterr().out


def under(heading: For, text: str) -> list[str]:
    part = text.partition(f"{heading.value}:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\w+) ", part, re.MULTILINE)


def test_commands_for_people_stand_apart_from_the_steps_of_the_pipeline(shown):
    assert {"init", "compare"} <= set(under(For.PEOPLE, shown)) <= {*ALONE, "compare"}
    assert {"acquire", "code", "fit", "draw", "measure", "report"} <= set(under(For.PIPELINE, shown))
    assert sorted(name for heading in For for name in under(heading, shown)) == sorted(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_is_a_module_that_says_what_it_takes(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: modp {name} ") and STEPS[name].summary.split()[0] in printed


def test_the_rules_run_steps_of_the_pipeline_alone():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    run = set(re.findall(r"python -m modp (\w+) --", rules))
    assert run == {name for name, step in STEPS.items() if step.runs is For.PIPELINE}


def test_the_console_script_is_the_module():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"modp": "modp.__main__:main"}
