"""The C++ network against float64 finite differences (wrong programs first), its training, and its
threads.
"""

import ctypes
import re
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.problems import baselines, mlp, two_classes
from helpers.simulator.compile import toolchain


@pytest.fixture(scope="module")
def data():
    return two_classes.two_class(0)


def parameters_away_from_zero(seed=5):
    """With biases that are not 0, so that no term of the gradient is missing."""
    random = np.random.default_rng(seed)
    return (mlp.initial_parameters(seed) + random.uniform(-0.3, 0.3, mlp.PARAMETERS)).astype(
        np.float32
    )


def gradient_errors(data, unroll):
    """The largest difference to finite differences, as a share of the largest derivative, for each
    of 8 samples.
    """
    parameters = parameters_away_from_zero()
    errors = []
    for x, y in zip(data.train_x[:8], data.train_y[:8], strict=True):
        want = mlp.numeric_gradient(parameters, x[None], y[None])
        got = mlp.gradient(parameters, x, float(y), unroll=unroll)
        errors.append(np.abs(got - want).max() / np.abs(want).max())
    return errors


def test_sizes():
    assert mlp.PARAMETERS == 81
    assert mlp.initial_parameters(1).shape == (81,)
    assert mlp.initial_parameters(1).dtype == np.float32


MUTANTS = {
    "softmax without its sum": ("a[i] * (delta[i] - mean)", "a[i] * delta[i]"),
    "softmax as if it were a sigmoid": ("a[i] * (delta[i] - mean)", "a[i] * (1 - a[i]) * delta[i]"),
    "tanh without its derivative": ("delta[i] *= 1.0f - a[i] * a[i];", ";"),
    "ReLU without its derivative": ("a[i] > 0 ? delta[i] : 0.0f", "delta[i]"),
    "no gradient of the biases": ("target[layer.biases + r] += step;", ""),
    "the wrong layer's output": (
        "step, values.output[l], layer.inputs",
        "step, values.output[l + 1], layer.inputs",
    ),
    "no tail when unrolled": ("for (; i < n; ++i) y[i] += scale * x[i];", ""),
    "target of the other class": (
        "values.output[LAYERS][0] - y",
        "values.output[LAYERS][0] - (1 - y)",
    ),
}


@pytest.fixture(scope="module")
def wrong_gradients():
    """Name -> a library with a wrong `mlp_gradient`: all of them compiled in one go."""
    source = baselines.cpu_source("mlp")
    head, body = re.split(r"^(?!#|//|$)", source, maxsplit=1, flags=re.MULTILINE)
    parts = [head]
    for number, (right, wrong) in enumerate(MUTANTS.values()):
        assert body.count(right) == 1
        names = r"\b(mlp_\w+|launch_threads|clock_cost)\b"
        parts.append(f"namespace wrong_{number} {{")
        parts.append(re.sub(names, rf"\1_{number}", body.replace(right, wrong)) + "}")
    path = toolchain.shared_library("wrong_gradients", "\n".join(parts), ("-O0", "-pthread"))
    library = ctypes.CDLL(str(path))
    return {
        name: SimpleNamespace(mlp_gradient=library[f"mlp_gradient_{number}"])
        for number, name in enumerate(MUTANTS)
    }


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_gradient_is_found(name, data, wrong_gradients, monkeypatch):
    monkeypatch.setattr(mlp, "_library", lambda: wrong_gradients[name])
    # The wrong one may read what nobody wrote: an error that is no number is one, too.
    assert not all(error <= 0.01 for error in gradient_errors(data, unroll=4))


@pytest.mark.parametrize("unroll", mlp.UNROLLED)
def test_the_gradient_agrees_with_finite_differences(unroll, data):
    assert all(error < 1e-4 for error in gradient_errors(data, unroll))


def test_predict_agrees_with_the_oracle(data):
    parameters = parameters_away_from_zero()
    got = mlp.predict(parameters, data.test_x)
    assert got.dtype == np.float32
    assert np.abs(got - mlp.probability(parameters, data.test_x)).max() < 1e-6
    # And would not with others.
    assert np.abs(got - mlp.probability(parameters[::-1], data.test_x)).max() > 0.01


def test_large_inputs_do_not_overflow():
    x = np.array([[1e4, -1e4, 1e4, 1e4]], np.float32)
    assert np.isfinite(mlp.predict(parameters_away_from_zero(), x)).all()


def test_one_step_is_the_gradient_times_the_rate(data):
    x, y = data.train_x[:1], data.train_y[:1]
    before = mlp.initial_parameters(3)
    after = mlp.train(x, y, epochs=1, seed=3, rate=0.1)
    step = -0.1 * mlp.numeric_gradient(before, x, y)
    assert np.abs(step).max() > 1e-3
    assert np.abs(after - before - step).max() < 1e-6


def test_training_reaches_a_real_accuracy(data):
    untrained = mlp.confusion(mlp.predict(mlp.initial_parameters(0), data.test_x), data.test_y)
    trained = mlp.train(data.train_x, data.train_y, epochs=300, seed=0)
    found = mlp.confusion(mlp.predict(trained, data.test_x), data.test_y)
    assert untrained.accuracy < 0.85
    assert found.accuracy > 0.93  # a constant answer has 0.59, a plane less than 0.85
    assert found.total == 275
    assert mlp.loss(trained, data.train_x, data.train_y) < mlp.loss(
        mlp.initial_parameters(0), data.train_x, data.train_y
    )


def test_training_is_reproducible_and_depends_on_the_seed(data):
    first, second, other = (
        mlp.train(data.train_x, data.train_y, epochs=5, seed=s) for s in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("unroll", (2, 4, 8))
def test_unrolling_changes_rounding_only(unroll, data):
    plain, unrolled = (
        mlp.train(data.train_x, data.train_y, epochs=2, unroll=u) for u in (1, unroll)
    )
    assert np.abs(plain - unrolled).max() < 1e-3


def test_every_sample_is_used_once_in_an_epoch():
    # With a tiny rate the parameters hardly move, so an epoch adds up the gradients of all samples.
    data = two_classes.two_class(1)
    x, y = data.train_x[:30], data.train_y[:30]
    before = mlp.initial_parameters(0)
    after = mlp.train(x, y, epochs=1, seed=0, rate=1e-3)
    step = -1e-3 * 30 * mlp.numeric_gradient(before, x, y)
    assert np.abs((after - before) - step).max() < 0.05 * np.abs(step).max()


# ---- threads ----


def test_one_thread_and_one_round_is_plain_training(data):
    plain = mlp.train(data.train_x, data.train_y, epochs=4, seed=7)
    threaded = mlp.train_threads(data.train_x, data.train_y, threads=1, rounds=1, epochs=4, seed=7)
    assert np.array_equal(plain, threaded)


def test_averaging_is_the_mean_of_separate_trainings(data):
    # The halves by hand, each from the same parameters, with the orders that threads 0 and 1 draw.
    x, y, half = data.train_x, data.train_y, len(data.train_x) // 2
    parts = []
    for t, part in enumerate((slice(0, half), slice(half, None))):
        parameters = mlp.initial_parameters(0)
        own_x, own_y = x[part].copy(), y[part].copy()
        mlp._library().mlp_train(
            mlp._at(parameters), mlp._at(own_x), mlp._at(own_y), len(own_x), 3,
            ctypes.c_float(0.01), ctypes.c_uint64(t), 1,
        )  # fmt: skip
        parts.append(parameters)
    threaded = mlp.train_threads(x, y, threads=2, rounds=1, epochs=3, seed=0)
    assert np.abs(parts[0] - parts[1]).max() > 1e-3
    assert np.allclose(threaded, (parts[0] + parts[1]) / 2, atol=1e-6)


@pytest.mark.parametrize("threads", (2, 3, 16))
def test_threads_give_the_same_result_every_time(threads, data):
    first, second = (
        mlp.train_threads(data.train_x, data.train_y, threads=threads, rounds=5, epochs=1)
        for _ in range(2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, mlp.train(data.train_x, data.train_y, epochs=5))


def test_more_threads_than_samples_are_refused(data):
    with pytest.raises(ValueError, match="9 threads for 8 samples"):
        mlp.train_threads(data.train_x[:8], data.train_y[:8], threads=9, rounds=1, epochs=1)


# ---- profile, confusion, bad input ----


def test_the_profile_names_every_phase(data):
    found = mlp.profile(data.train_x, data.train_y, epochs=3)
    assert tuple(found.nanoseconds) == mlp.PHASES
    assert found.reads == 10  # 4 layers x (products, activation), backward, update
    assert found.total > 0
    assert found.clock > 0


def test_confusion_counts_every_sample_once():
    found = mlp.confusion(np.array([0.1, 0.9, 0.6, 0.2, 0.5]), np.array([0, 1, 0, 1, 0]))
    assert found.counts.tolist() == [[2, 1], [1, 1]]
    assert found.total == 5
    assert found.accuracy == pytest.approx(3 / 5)
    lines = str(found).splitlines()
    assert lines[0].split() == ["called", "0", "called", "1", "sum"]
    assert lines[-1].split() == ["sum", "3", "2", "5"]


def test_a_constant_answer_has_the_accuracy_of_its_share(data):
    found = mlp.confusion(np.zeros(275), data.test_y)
    assert round(found.accuracy, 2) == 0.59
    # Which the confusion matrix shows and the accuracy hides.
    assert found.counts[:, 1].tolist() == [0, 0]


def test_nan_is_never_an_answer():
    with pytest.raises(ValueError, match="1 of 2 probabilities are NaN"):
        mlp.confusion(np.array([np.nan, 0.2]), np.array([0, 1]))


def test_bad_input_is_explained(data):
    x, y = data.train_x, data.train_y
    with pytest.raises(TypeError, match="x is float64"):
        mlp.train(x.astype(float), y, epochs=1)
    with pytest.raises(ValueError, match=r"x has shape \(1096, 3\); expected \(1096, 4\)"):
        mlp.train(x[:, :3].copy(), y, epochs=1)
    with pytest.raises(ValueError, match=r"y has shape \(10,\); expected \(1096,\)"):
        mlp.train(x, y[:10], epochs=1)
    with pytest.raises(ValueError, match="a view with strides"):
        mlp.train(x[::2], y[: len(x[::2])], epochs=1)
    with pytest.raises(ValueError, match="other than 0 and 1"):
        mlp.train(x, y + 1, epochs=1)
    with pytest.raises(ValueError, match="epochs is 0"):
        mlp.train(x, y, epochs=0)
    with pytest.raises(ValueError, match=r"unroll is 3.*1, 2, 4, 8"):
        mlp.train(x, y, epochs=1, unroll=3)
    with pytest.raises(ValueError, match="empty"):
        mlp.predict(mlp.initial_parameters(0), x[:0])
