"""Draw one row of the accuracy table from its model."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from modp.base import seeds
from modp.base.config import check
from modp.base.errors import InputError, did_you_mean
from modp.base.output import Log
from modp.cli.inputs import ask_for_fitted, design_of, fitted, read_drawn, work_of, write_parts
from modp.draws import weighting
from modp.models.family import Drawn, Row
from modp.survey.codebook import Codebook
from modp.survey.records import Records

MARGINS = "margins"
"""Under ``calibrate``: all questions."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the step's options."""
    ask_for_fitted(parser)
    parser.add_argument("--row", type=json.loads, required=True, help="the row, as JSON")
    parser.add_argument("--instances", type=Path, nargs="*", default=[], help="in order, if there are any")
    parser.add_argument("--weight-question", nargs="?", help="of the records' survey weight, if there is one")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace, log: Log) -> None:
    """Draw, write."""
    records, family, model = fitted(options)
    row = check(options.row, family.row, f"row {options.name}")
    work = work_of(options, log)
    if options.instances or options.weight_question is not None or row.calibrate:
        instances = [read_drawn(path, records.codebook) for path in options.instances]
        drawn = family.draw(model, records, row, work, instances)
        guaranteed = bool(family.parts.get("guarantee"))
        parts = iter([_weighed(drawn, row, records, guaranteed, options, log)])
    else:
        parts = family.draw_in_parts(model, records, row, work)
    told = _Told()
    write_parts(options.out, (told.of(part, records) for part in parts), records.codebook)
    if told.answers:
        differ = told.differing / told.answers
        log(f"{row.row}: {told.records:,} records; {differ:.1%} of the answers differ from the partner's")
    else:
        log(f"{row.row}: {told.records:,} records that no true record was the start of")


@dataclass
class _Told:
    """What is told of a table whose parts went by: its records, and their answers beside their partners'."""

    records: int = 0
    answers: int = 0
    differing: int = 0

    def of(self, part: Drawn, true: Records) -> Drawn:
        """Count a part, and return it."""
        begun = ~np.ma.getmaskarray(part.record)
        changed = part.codes[begun] != true.codes[part.record.compressed()]
        self.records += len(part.codes)
        self.answers += changed.size
        self.differing += int(np.count_nonzero(changed))
        return part


def _weighed(
    drawn: Drawn, row: Row, records: Records, guaranteed: bool, options: argparse.Namespace, log: Log
) -> Drawn:
    """Give the records weights, where the weight was a question or totals are to be met."""
    if options.weight_question is None and not row.calibrate:
        return drawn
    if guaranteed:
        if row.calibrate:
            raise InputError(
                f"row {row.row}: 'calibrate' takes true totals, which a guarantee does not allow"
            )
        log(f"{row.row}: no weights are drawn, since those inside a class are from the true records")
        return drawn
    codes, true, codebook = drawn.codes, design_of(options), records.codebook
    weights = np.full(len(codes), true.total / max(len(codes), 1))
    if options.weight_question is not None:
        at = codebook.names.index(options.weight_question)
        rng = seeds.generator(options.seed, "weights", row.row)
        weights = weighting.inside(codes[:, at], records.codes[:, at], true.values, rng)
        weights *= true.total / weights.sum()
    if row.calibrate and len(codes):
        questions = _calibrated(row, codebook, options.weight_question)
        totals = [np.bincount(records.codes[:, q], true.values, codebook.sizes[q]) for q in questions]
        found = weighting.raked(weights, codes[:, questions], totals)
        weights = found.weights
        for line in _said(found, questions, codebook):
            log(f"{row.row}: {line}")
    return replace(drawn, weights=weights)


def _calibrated(row: Row, codebook: Codebook, weight_question: str | None) -> list[int]:
    """The places of the questions whose totals are to be met."""
    others = [name for name in codebook.names if name != weight_question]
    for name in row.calibrate:
        if name not in (*others, MARGINS):
            near = did_you_mean(name, [*others, MARGINS])
            raise InputError(f"row {row.row}: calibrate: there is no question {name!r}{near}")
    wanted = others if MARGINS in row.calibrate else row.calibrate
    return [codebook.names.index(name) for name in dict.fromkeys(wanted)]


def _said(found: weighting.Raked, questions: Sequence[int], codebook: Codebook) -> list[str]:
    """What is to be said of totals that were not met."""
    said = []
    if found.off > weighting.NEAR:
        said.append(f"raking ended {found.off:.1e} of the total away from the stated totals")
    if found.empty:
        asked = [codebook.questions[questions[q]] for q, _ in found.empty]
        names = [f"{q.name}={q.categories[k].code}" for q, (_, k) in zip(asked, found.empty, strict=True)]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        said.append(f"no record to carry the totals of {', '.join(names[:5])}{more}: others make up for them")
    return said
