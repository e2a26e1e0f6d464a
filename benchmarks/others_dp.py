"""Fit and draw by a method with a formal guarantee that is not this project's: AIM or MST of opendp[mbi].

AIM as it is takes hours where the budget is large. Cut short, it measures 48 tables at most if its budget is
in equal parts (by default it begins with a part for each of sixteen tables a question), and cliques are held
to 2 MB in the end instead of 80. Whole or cut short, sizes and tables of its model come from graphical.py,
since most of its time would go there; they are the same but for rounding.

It runs in an environment of its own, without this package. All categories are known to all (as bounds of
numbered bins), so that every guarantee is pure zero-concentrated differential privacy, rho; noise is secret
and cannot be repeated.

Run by peers_dp.py: PYTHON benchmarks/others_dp.py mst|aim|aim_short CODES.csv FOLDER RHO
"""

import json
import math
import sys
import time
from fractions import Fraction
from pathlib import Path

import graphical
import numpy as np

PAIRS = 2
"""AIM's candidates are all tables of so many questions, and of fewer."""

SHORT = {"rounds": 48, "max_size": 2.0}
"""Bounds of AIM where it is cut short: parts of the budget, and MB of cliques."""

ONE_WAY, MEASURED = 0.5, 0.9
"""Shares of opendp's defaults: the budget for one-way tables; of the rest, what is not for choosing."""


def just_below(number: float) -> float:
    """The next smaller number."""
    return math.nextafter(number, -math.inf)


def affordable(rho: float, choices: int) -> float:
    """Return the largest budget up to rho at which opendp 0.16 can pay for MST's choices.

    It divides what is for choosing by their number, rounds down once, and refuses if the sum, of which each
    step is rounded up, comes out larger: so it does at most budgets, by a few units in the last place.
    """
    while True:
        pairs = just_below(just_below(rho - rho * ONE_WAY))
        choosing = just_below(just_below(pairs - pairs * MEASURED))
        each, total = just_below(choosing / choices), 0.0
        for _ in range(choices):
            exact, total = Fraction(total) + Fraction(each), total + each
            total = total if total >= exact else math.nextafter(total, math.inf)
        if total <= choosing:
            return rho
        rho = just_below(rho)


def whole(shares: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n categories in random order, as many of each as its share says, rounded at random."""
    expected = shares * (n / shares.sum())
    counts = np.floor(expected).astype(int)
    rest = expected - counts
    if left := n - counts.sum():
        counts[rng.choice(len(shares), left, replace=False, p=rest / rest.sum())] += 1
    return rng.permutation(np.repeat(np.arange(len(shares)), counts))


def drawn(model, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw n records of a graphical model of mbi, question after question, each given those in its clique.

    mbi 1.1.0's own draw, which opendp takes, gives records of low rank among those of the same parents low
    categories of every question, and so makes questions depend on each other that do not, and looks for
    parents in measured cliques alone (ryan112358/mbi, pull request 145): its tables are far from its model's.
    """
    from mbi import junction_tree, marginal_oracles

    tree, order = junction_tree.make_junction_tree(model.domain, [set(clique) for clique in model.cliques])
    cliques = [set(clique) for clique in tree.nodes]
    marginals = marginal_oracles.message_passing_stable(model.potentials.expand(list(tree.nodes)))
    columns: dict[str, np.ndarray] = {}
    for question in order[::-1]:
        together = set().union(*(clique for clique in cliques if question in clique))
        parents = tuple(other for other in columns if other in together)
        table = np.asarray(marginals.project((*parents, question)).datavector(flatten=False), float)
        answers = np.zeros(n, int)
        given = np.stack([np.zeros(n, int), *(columns[parent] for parent in parents)])
        groups, group = np.unique(given, axis=1, return_inverse=True)
        for number, at in enumerate(groups.T):
            rows = np.flatnonzero(group.ravel() == number)
            shares = table[tuple(at[1:])]
            answers[rows] = whole(np.where(shares.sum() > 0, shares, 1.0), len(rows), rng)
        columns[question] = answers
    return columns


def quicken() -> None:
    """Let a model of mbi take sizes and tables that it does not hold from graphical.py.

    Programs compiled for models before are let go: some sixty models' are more maps of memory than Linux
    grants a process, which ends it.
    """
    import jax
    import mbi

    held: dict[str, object] = {}

    def megabytes(domain, cliques) -> float:
        return graphical.megabytes(dict(zip(domain.attributes, domain.shape, strict=True)), cliques)

    def project(model, attrs):
        questions = (attrs,) if isinstance(attrs, str) else tuple(attrs)
        if held.get("model") is not model:
            jax.clear_caches()
            sizes = dict(zip(model.domain.attributes, model.domain.shape, strict=True))
            arrays = {
                clique: factor.transpose(clique).values for clique, factor in model.potentials.arrays.items()
            }
            held.update(model=model, tree=graphical.Tree(sizes, arrays))
        table = held["tree"].table(questions) * float(model.total)
        return mbi.Factor(model.domain.project(questions), table)

    mbi.junction_tree.hypothetical_model_size = megabytes
    mbi.MarkovRandomField.project = project


def main() -> None:
    import opendp.prelude as dp
    import polars as pl

    name, path, folder, rho = sys.argv[1:]
    sizes = json.loads(Path(folder, "sizes.json").read_text(encoding="utf-8"))
    codes = pl.read_csv(path)
    dp.enable_features("contrib")
    quicken()
    budget = affordable(float(rho), len(sizes) - 1) if name == "mst" else float(rho)
    short = SHORT if name == "aim_short" else {}
    algorithm = dp.mbi.MST() if name == "mst" else dp.mbi.AIM(queries=PAIRS, **short)
    began = time.process_time()
    context = dp.Context.compositor(
        data=codes.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=budget)
    )
    # Bins "up to 0", "1" … "above k - 2" are the k categories; keys would get one of blanks beside.
    bins = {question: list(range(size - 1)) for question, size in sizes.items()}
    asked = context.query(rho=budget).select(*codes.columns)
    table = asked.contingency_table(cuts=bins, algorithm=algorithm).release()
    fitted = time.process_time()
    columns = drawn(table.model, len(codes), np.random.default_rng())
    seconds = [fitted - began, time.process_time() - fitted]
    pl.DataFrame(columns).select(codes.columns).write_csv(Path(folder, "drawn.csv"))
    facts = {"seconds": seconds, "tables": len({m.clique for m in table.marginals.flatten()})}
    Path(folder, "fitted.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main()
