"""The oracle against hand-worked cases and laws; the CPU baselines against the oracle, wrong ones first."""


import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import reference
from helpers.simulator import toolchain

KEYS = ["numpy", "one_core", "unrolled_2", "unrolled_4", "unrolled_8", "swapped", "all_cores"]


@pytest.fixture(scope="module")
def baselines():
    return reference.cpu_baselines()


def arrays(n, width, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, n).astype(np.float32), random.uniform(-1, 1, width).astype(np.float32)


# ---- the oracle ----


def test_a_hand_worked_asymmetric_case():
    # 0*10 + 1*20 + 2*1, then 1*10 + 2*20 + 3*1, ...; the last output has a ghost cell on its right.
    got = reference.conv1d(np.array([1, 2, 3, 4]), np.array([10, 20, 1]))
    assert got.dtype == np.float64
    assert got.tolist() == [22, 53, 84, 110]


def test_the_filter_is_not_flipped():
    impulse = np.array([0, 0, 1, 0, 0])
    assert reference.conv1d(impulse, np.array([10, 20, 1])).tolist() == [0, 1, 20, 10, 0]


def test_a_filter_wider_than_the_array():
    assert reference.conv1d(np.array([2.0, 3.0]), np.array([1, 10, 100, 1000, 10000])).tolist() == [3200, 320]


def test_the_identity_filter_and_the_shift():
    N, _ = arrays(100, 1)
    assert np.array_equal(reference.conv1d(N, np.array([0, 1, 0])), N)
    assert np.array_equal(reference.conv1d(N, np.array([1, 0, 0])), np.append(0, N[:-1]).astype(float))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_linearity(n, radius, seed):
    random = np.random.default_rng(seed)
    a, b, filter = (random.integers(-99, 99, size) for size in (n, n, 2 * radius + 1))
    together = reference.conv1d(2 * a - 3 * b, filter)
    assert np.array_equal(together, 2 * reference.conv1d(a, filter) - 3 * reference.conv1d(b, filter))


def test_float32_input_is_summed_in_float64():
    N = np.array([1e8, 1, -1e8], np.float32)
    assert reference.conv1d(N, np.ones(3, np.float32))[1] == 1.0  # float32 would lose the 1


def test_nan_is_not_hidden():
    assert np.isnan(reference.conv1d(np.array([0, np.nan, 0]), np.ones(3))).all()


@pytest.mark.parametrize(
    ("N", "filter", "message"),
    [
        ([], [1, 2, 3], "N is empty"),
        ([1, 2], [1, 2], "even"),
        ([[1, 2], [3, 4]], [1], r"N has shape \(2, 2\).*ravel"),
        ([1, 2], [[1]], "filter has shape"),
        ([1, 2], [], "filter"),
    ],
)
def test_bad_input_to_the_oracle_is_explained(N, filter, message):
    with pytest.raises(ValueError, match=message):
        reference.conv1d(np.array(N), np.array(filter))


# ---- the baselines ----


def wrong(compute):
    return reference.Baseline("wrong on purpose", "", compute)


WRONG = {
    "flipped": lambda N, f, out: np.copyto(out, reference.conv1d(N, f[::-1])),
    "wraps around": lambda N, f, out: np.copyto(out, reference.conv1d(np.pad(N, 99, "wrap"), f)[99:-99]),
    "last one left out": lambda N, f, out: np.copyto(out[:-1], reference.conv1d(N, f)[:-1]),
    "tail of the filter left out": lambda N, f, out: np.copyto(
        out, reference.conv1d(N, np.where(np.arange(f.size) < f.size // 4 * 4, f, 0))
    ),
    "nothing written": lambda N, f, out: out.fill(np.nan),
    "filter as float16": lambda N, f, out: np.copyto(out, reference.conv1d(N, f.astype(np.float16))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_baseline_may_not_be_used(name):
    with pytest.raises(reference.BaselineError, match=r"wrong on purpose.*may not be timed"):
        reference.require_correct(wrong(WRONG[name]))


def test_a_right_baseline_may_be_used():
    reference.require_correct(wrong(lambda N, f, out: np.copyto(out, reference.conv1d(N, f))))


def test_keys_and_names(baselines):
    assert list(baselines) == KEYS
    names = [baseline.name for baseline in baselines.values()]
    assert names[:5] == ["NumPy", "C++, one core", *(f"C++, one core, unrolled by {u}" for u in (2, 4, 8))]
    assert len(set(names)) == len(names)
    if toolchain.supports_openmp():
        assert "(OpenMP)" in baselines["all_cores"].name
        assert any(character.isdigit() for character in baselines["all_cores"].name)


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 5000), radius=st.integers(0, 40), seed=st.integers(0, 999))
def test_every_baseline_agrees_with_the_oracle(key, n, radius, seed):
    N, filter = arrays(n, 2 * radius + 1, seed)
    got = reference.cpu_baselines()[key].call(N, filter)
    assert got.dtype == np.float32
    want = reference.conv1d(N, filter)
    assert np.abs(got - want).max() <= 1e-6 * (filter.size + 1)


@pytest.mark.parametrize("key", KEYS)
def test_out_is_filled_and_returned(baselines, key):
    N, filter = arrays(1000, 7)
    out = np.full(1000, np.nan, np.float32)
    assert baselines[key].call(N, filter, out) is out
    assert np.allclose(out, reference.conv1d(N, filter), atol=1e-5)


def test_bad_input_to_a_baseline_is_explained(baselines):
    N, filter = arrays(100, 3)
    call = baselines["one_core"].call
    with pytest.raises(TypeError, match=r"N is float64.*astype\(numpy.float32\)"):
        call(N.astype(np.float64), filter)
    with pytest.raises(TypeError, match="N is a list"):
        call([1.0, 2.0], filter)
    with pytest.raises(ValueError, match="ascontiguousarray"):
        call(N[::2], filter)
    with pytest.raises(ValueError, match="one dimension"):
        call(N.reshape(10, 10), filter)
    with pytest.raises(ValueError, match="N is empty"):
        call(N[:0], filter)
    with pytest.raises(ValueError, match="even"):
        call(N, np.ones(4, np.float32))
    with pytest.raises(ValueError, match=r"out has shape \(99,\); expected \(100,\)"):
        call(N, filter, np.empty(99, np.float32))
    with pytest.raises(ValueError, match="shares memory"):
        call(N, filter, N)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 64),
        ({"cpu.max": "1600000 100000\n"}, 16),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu.max": "50000 100000\n"}, 0),  # half a core: usable_cores makes it 1
        ({"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
    ],
)
def test_a_containers_share_limits_the_cores(files, cores, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert reference._container_cores(tmp_path, 64) == cores
    assert 1 <= reference.usable_cores() <= os.cpu_count()


def test_without_openmp_one_core_is_used_and_says_so(tmp_path, monkeypatch, capsys):
    real = " ".join(f"'{word}'" for word in toolchain.find_compiler().argv)
    wrapper = tmp_path / "no-openmp"
    wrapper.write_text(f'#!/bin/sh\ncase " $* " in *fopenmp*) echo no OpenMP >&2; exit 1;; esac\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "cache"))
    found = reference.cpu_baselines()
    assert found["all_cores"].name == "C++, one core (no OpenMP)"
    assert "has no OpenMP" in capsys.readouterr().out
    N, filter = arrays(5003, 31)
    assert np.allclose(found["all_cores"].call(N, filter), reference.conv1d(N, filter), atol=1e-5)


def test_without_a_compiler_the_error_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.CompilerMissingError, match="pip install ziglang"):
        reference.cpu_baselines()


# ---- C++ given as text ----

OWN = """
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n, long long width) {
    for (long long i = 0; i < n; ++i) {
        float sum = 0;
        for (long long j = 0; j < width; ++j) {
            const long long k = i - width / 2 + j;
            if (GUARD) sum += N[k] * filter[j];
        }
        P[i] = sum;
    }
}
"""
RIGHT = OWN.replace("GUARD", "0 <= k && k < n")


@pytest.mark.parametrize("guarded", [False, True])
def test_own_cpp_is_compiled_and_right(guarded):
    mine = reference.conv1d_from_cpp(RIGHT, guarded=guarded)
    reference.require_correct(mine)


def test_guards_show_a_read_outside_n():
    mine = reference.conv1d_from_cpp(OWN.replace("GUARD", "true"), guarded=True)
    N, filter = arrays(50, 5)
    assert np.flatnonzero(np.isnan(mine.call(N, filter))).tolist() == [0, 1, 48, 49]


def test_guards_show_a_write_outside_p():
    for change, where in (("P[i + 1] = sum", r"after P\[49\]"), ("P[i - 1] = sum", r"before P\[0\]")):
        mine = reference.conv1d_from_cpp(RIGHT.replace("P[i] = sum", change), guarded=True)
        with pytest.raises(IndexError, match=f"wrote outside P, {where}"):
            mine.call(*arrays(50, 5))


def test_own_cpp_that_does_not_compile_names_the_line():
    with pytest.raises(toolchain.CompileFailed, match=r"yours.cpp:4"):
        reference.conv1d_from_cpp(RIGHT.replace("float sum = 0;", "float sum = ;"))


def test_own_cpp_without_the_function_says_what_is_expected():
    with pytest.raises(LookupError, match=r"no function 'conv1d'.*expected extern"):
        reference.conv1d_from_cpp("int nothing;")
