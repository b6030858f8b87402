"""The small network of lab 400 on the CPU: helpers/problems/cpu/mlp.cpp, called from Python.

4 inputs -> 4 (softmax) -> 5 (ReLU) -> 5 (tanh) -> 1 (sigmoid), cross-entropy loss, trained by
stochastic gradient descent with one sample per step. Its 81 parameters are one float32 vector: for
each layer the weights, row-major with shape (outputs, inputs), then the biases. `loss` is the
float64 oracle in NumPy; the tests compare the C++ code with it.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from helpers import tables
from helpers.problems import baselines
from helpers.simulator.compile import toolchain

# (inputs, outputs, activation) of each layer.
LAYERS = ((4, 4, "softmax"), (4, 5, "ReLU"), (5, 5, "tanh"), (5, 1, "sigmoid"))
PARAMETERS = sum(inputs * outputs + outputs for inputs, outputs, _ in LAYERS)
PHASES = ("forward", "activation functions", "backward", "update")
UNROLLED = (1, 2, 4, 8)
RATE = 0.01


def initial_parameters(seed: int = 0) -> np.ndarray:
    """Return random float32 parameters, shape (81,).

    The weights are uniform within +-sqrt(6 / (inputs + outputs)), the biases 0: the rule of Glorot
    and Bengio, "Understanding the difficulty of training deep feedforward neural networks" (2010).
    """
    random = np.random.default_rng(seed)
    parts = []
    for inputs, outputs, _ in LAYERS:
        limit = (6 / (inputs + outputs)) ** 0.5
        parts += [random.uniform(-limit, limit, inputs * outputs), np.zeros(outputs)]
    return np.concatenate(parts).astype(np.float32)


# ---- the oracle ----


def probability(parameters: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the probability of class 1 in float64, shape (samples,): the oracle of `predict`.

    x: shape (samples, 4).
    """
    parameters, a = np.asarray(parameters, np.float64), np.asarray(x, np.float64)
    begin = 0
    for inputs, outputs, activation in LAYERS:
        weights = parameters[begin : begin + inputs * outputs].reshape(outputs, inputs)
        begin += inputs * outputs
        z = a @ weights.T + parameters[begin : begin + outputs]
        begin += outputs
        a = _ACTIVATIONS[activation](z)
    return a[:, 0]


def _softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softmax": _softmax,
    "ReLU": lambda z: np.maximum(z, 0),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
}


def loss(parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Return the mean cross-entropy in float64; x: (samples, 4); y: (samples,), 0 or 1."""
    p = probability(parameters, x)
    y = np.asarray(y, np.float64)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)))


def numeric_gradient(parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return d loss / d parameters, float64, shape (81,): the oracle of `gradient`.

    It takes central differences of `loss`.
    """
    parameters, step = np.asarray(parameters, np.float64), 1e-5
    moves = step * np.eye(parameters.size)
    return np.array(
        [(loss(parameters + m, x, y) - loss(parameters - m, x, y)) / (2 * step) for m in moves]
    )


# ---- the C++ program ----


def predict(parameters: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the probability of class 1 by the C++ program: float32, shape (samples,)."""
    _require_float32("parameters", parameters, (PARAMETERS,))
    _require_float32("x", x, (len(x), 4))
    p = np.empty(len(x), np.float32)
    _library().mlp_predict(_at(parameters), _at(x), len(x), _at(p))
    return p


def gradient(parameters: np.ndarray, x: np.ndarray, y: float, *, unroll: int = 1) -> np.ndarray:
    """Return d loss / d parameters of one sample by the C++ program: float32, shape (81,).

    x: float32, shape (4,).
    """
    _require_float32("parameters", parameters, (PARAMETERS,))
    _require_float32("x", x, (4,))
    _require_unroll(unroll)
    slopes = np.empty(PARAMETERS, np.float32)
    _library().mlp_gradient(_at(parameters), _at(x), ctypes.c_float(y), unroll, _at(slopes))
    return slopes


def train(
    x: np.ndarray, y: np.ndarray, *, epochs: int, seed: int = 0, unroll: int = 1, rate: float = RATE
) -> np.ndarray:
    """Return the parameters after `epochs` passes over all samples on one thread.

    x: float32, shape (samples, 4); y: float32, shape (samples,), 0 or 1. unroll: 1, 2, 4 or 8
    elements at a time in the inner loops. The same arguments give the same result on one machine.
    Raises TypeError for another dtype and ValueError for another shape or value.
    """
    _require_samples(x, y, epochs=epochs)
    _require_unroll(unroll)
    parameters = initial_parameters(seed)
    _library().mlp_train(
        _at(parameters),
        _at(x),
        _at(y),
        len(x),
        epochs,
        ctypes.c_float(rate),
        ctypes.c_uint64(seed),
        unroll,
    )
    return parameters


def train_threads(
    x: np.ndarray,
    y: np.ndarray,
    *,
    threads: int,
    rounds: int,
    epochs: int,
    seed: int = 0,
    rate: float = RATE,
) -> np.ndarray:
    """Return the parameters after data-parallel training on several threads.

    In each of `rounds` rounds, `threads` new threads start from the same parameters and make
    `epochs` passes over their own share of the samples; then their parameters are averaged. In all
    they make `rounds * epochs` passes over all samples, as one thread would. The result does not
    depend on timing.
    """
    _require_samples(x, y, epochs=epochs, rounds=rounds, threads=threads)
    if threads > len(x):
        raise ValueError(
            f"{threads} threads for {len(x)} samples: each thread needs at least one sample"
        )
    parameters = initial_parameters(seed)
    _library().mlp_train_threads(
        _at(parameters),
        _at(x),
        _at(y),
        len(x),
        rounds,
        epochs,
        ctypes.c_float(rate),
        ctypes.c_uint64(seed),
        threads,
    )
    return parameters


def launch_threads(*, threads: int, rounds: int) -> None:
    """Start and join `threads` threads that do nothing, `rounds` times.

    It takes the time that `train_threads` spends on launches.
    """
    _require_positive(threads=threads, rounds=rounds)
    _library().launch_threads(rounds, threads)


@dataclass(frozen=True)
class Profile:
    """Nanoseconds per training step (one sample) by phase, without the cost of reading the clock.

    `clock` is the cost of the `reads` clock readings of a step. A step takes `total` without the
    readings and `total + clock` with them.
    """

    nanoseconds: dict[str, float]
    clock: float
    reads: float

    @property
    def total(self) -> float:
        """Nanoseconds per step in all phases together."""
        return sum(self.nanoseconds.values())


def profile(
    x: np.ndarray, y: np.ndarray, *, epochs: int, seed: int = 0, rate: float = RATE
) -> Profile:
    """Train as `train` does, and read the clock at the end of every phase of every step."""
    _require_samples(x, y, epochs=epochs)
    parameters = initial_parameters(seed)
    spent, reads = np.zeros(len(PHASES)), np.zeros(len(PHASES))
    # The least of several: another program on the processor only adds to it.
    cost = min(_library().clock_cost() for _ in range(5))
    _library().mlp_profile(
        _at(parameters),
        _at(x),
        _at(y),
        len(x),
        epochs,
        ctypes.c_float(rate),
        ctypes.c_uint64(seed),
        _at(spent),
        _at(reads),
    )
    steps = epochs * len(x)
    net = np.maximum(spent - reads * cost, 0) / steps
    return Profile(
        dict(zip(PHASES, net.tolist(), strict=True)),
        float(reads.sum() * cost / steps),
        float(reads.sum() / steps),
    )


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix. Rows of `counts` (2, 2) are the true classes, columns the answers."""

    counts: np.ndarray

    @property
    def total(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(np.trace(self.counts) / self.total)

    def __str__(self) -> str:
        rows = [[f"class {c}", *map(str, row), str(row.sum())] for c, row in enumerate(self.counts)]
        rows.append(["sum", *map(str, self.counts.sum(axis=0)), str(self.total)])
        return tables.text(["", "called 0", "called 1", "sum"], rows)


def confusion(p: np.ndarray, y: np.ndarray) -> Confusion:
    """Return the counts of answers (p > 0.5 means class 1) against classes y.

    Raises ValueError for NaN in p, which would count as class 0.
    """
    p, y = np.asarray(p), np.asarray(y)
    if p.shape != y.shape or p.ndim != 1 or p.size == 0:
        raise ValueError(
            f"p has shape {p.shape} and y {y.shape}; expected the same shape (samples,), not empty"
        )
    if np.isnan(p).any():
        raise ValueError(
            f"{int(np.isnan(p).sum())} of {p.size} probabilities are NaN: training diverged"
        )
    _require_classes(y)
    counts = np.zeros((2, 2), int)
    np.add.at(counts, (y.astype(int), (p > 0.5).astype(int)), 1)
    return Confusion(counts)


# ---- loading and checking arguments ----


def _library() -> ctypes.CDLL:
    return _load(toolchain.find_compiler())


@functools.cache
def _load(compiler: toolchain.Compiler) -> ctypes.CDLL:
    library = baselines.load_cpp("mlp", baselines.cpu_source("mlp"))
    library.clock_cost.restype = ctypes.c_double
    return library


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _require_float32(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    baselines.require_float32(**{name: array})
    if array.shape != shape or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; expected {shape}, not empty")


def _require_samples(x: np.ndarray, y: np.ndarray, **counts: int) -> None:
    _require_float32("x", x, (len(x), 4))
    _require_float32("y", y, (len(x),))
    _require_classes(y)
    _require_positive(**counts)


def _require_classes(y: np.ndarray) -> None:
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y holds values other than 0 and 1; expected the class of each sample")


def _require_positive(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} is {count}; expected 1 or more")


def _require_unroll(unroll: int) -> None:
    if unroll not in UNROLLED:
        raise ValueError(
            f"unroll is {unroll}; mlp.cpp has the loops unrolled by {', '.join(map(str, UNROLLED))}"
        )
