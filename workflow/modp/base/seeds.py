"""Every random stream of a run, derived from its one seed."""

import hashlib

import numpy as np


def sequence(seed: int, *names: str) -> np.random.SeedSequence:
    """Return the seed sequence of the stream called ``names`` (e.g. ``"train", "model_5_15"``).

    Streams of different names are independent, and a stream does not depend on which others
    were used before it, so jobs can run in any order and on any number of cores.
    """
    key = [int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little") for name in names]
    return np.random.SeedSequence(seed, spawn_key=key)


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return the NumPy generator of the stream called ``names``; see :func:`sequence`."""
    return np.random.default_rng(sequence(seed, *names))


def integer(seed: int, *names: str) -> int:
    """Return one 63-bit seed of the stream called ``names``, for libraries that take a number."""
    return int(sequence(seed, *names).generate_state(1, np.uint64)[0] >> np.uint64(1))
