"""The CPU baselines against the oracle, wrong ones first."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import reference
from helpers.problems import baselines
from helpers.simulator.compile import toolchain

KEYS = ["numpy", "one_core", "unrolled_2", "unrolled_4", "unrolled_8", "swapped", "all_cores"]


@pytest.fixture(scope="module")
def programs():
    return baselines.conv1d()


def arrays(n, width, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, n).astype(np.float32), random.uniform(-1, 1, width).astype(
        np.float32
    )


# ---- the baselines ----


WRONG = {
    "flipped": lambda N, f, out: np.copyto(out, reference.conv1d(N, f[::-1])),
    "wraps around": lambda N, f, out: np.copyto(
        out, reference.conv1d(np.pad(N, 99, "wrap"), f)[99:-99]
    ),
    "last one left out": lambda N, f, out: np.copyto(out[:-1], reference.conv1d(N, f)[:-1]),
    "tail of the filter left out": lambda N, f, out: np.copyto(
        out, reference.conv1d(N, np.where(np.arange(f.size) < f.size // 4 * 4, f, 0))
    ),
    "nothing written": lambda N, f, out: out.fill(np.nan),
    "filter as float16": lambda N, f, out: np.copyto(
        out, reference.conv1d(N, f.astype(np.float16))
    ),
}


def test_keys_and_names(programs):
    assert list(programs) == KEYS
    names = [baseline.name for baseline in programs.values()]
    assert names[:5] == [
        "NumPy",
        "C++, one core",
        *(f"C++, one core, unrolled by {u}" for u in (2, 4, 8)),
    ]
    assert len(set(names)) == len(names)
    if toolchain.supports_openmp():
        assert "(OpenMP)" in programs["all_cores"].name
        assert any(character.isdigit() for character in programs["all_cores"].name)


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 5000), radius=st.integers(0, 40), seed=st.integers(0, 999))
def test_every_baseline_agrees_with_the_oracle(key, n, radius, seed):
    N, filter = arrays(n, 2 * radius + 1, seed)
    got = baselines.conv1d()[key].call(N, filter)
    assert got.dtype == np.float32
    want = reference.conv1d(N, filter)
    assert np.abs(got - want).max() <= 1e-6 * (filter.size + 1)


@pytest.mark.parametrize("key", KEYS)
def test_out_is_filled_and_returned(programs, key):
    N, filter = arrays(1000, 7)
    out = np.full(1000, np.nan, np.float32)
    assert programs[key].call(N, filter, out) is out
    assert np.allclose(out, reference.conv1d(N, filter), atol=1e-5)


def test_bad_input_to_a_baseline_is_explained(programs):
    N, filter = arrays(100, 3)
    call = programs["one_core"].call
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
    assert baselines._container_cores(tmp_path, 64) == cores
    assert 1 <= baselines.usable_cores() <= os.cpu_count()


def test_without_openmp_one_core_is_used_and_says_so(tmp_path, monkeypatch, capsys):
    real = " ".join(f"'{word}'" for word in toolchain.find_compiler().argv)
    wrapper = tmp_path / "no-openmp"
    wrapper.write_text(
        '#!/bin/sh\ncase " $* " in *fopenmp*) echo no OpenMP >&2; exit 1;; '
        f'esac\nexec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "cache"))
    found = baselines.conv1d()
    assert found["all_cores"].name == "C++, one core (no OpenMP)"
    assert "has no OpenMP" in capsys.readouterr().out
    N, filter = arrays(5003, 31)
    assert np.allclose(found["all_cores"].call(N, filter), reference.conv1d(N, filter), atol=1e-5)


def test_without_a_compiler_the_error_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.CompilerMissingError, match="pip install ziglang"):
        baselines.conv1d()


# ---- C++ given as text ----

OWN = """
extern "C" void conv1d(float* P, const float* N, const float* filter, long long n,
    long long width) {
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
    mine = baselines.conv1d_from_cpp(RIGHT, guarded=guarded)
    baselines.require_correct(mine)


def test_guards_show_a_read_outside_n():
    mine = baselines.conv1d_from_cpp(OWN.replace("GUARD", "true"), guarded=True)
    N, filter = arrays(50, 5)
    assert np.flatnonzero(np.isnan(mine.call(N, filter))).tolist() == [0, 1, 48, 49]


def test_guards_show_a_write_outside_p():
    for change, where in (
        ("P[i + 1] = sum", r"after P\[49\]"),
        ("P[i - 1] = sum", r"before P\[0\]"),
    ):
        mine = baselines.conv1d_from_cpp(RIGHT.replace("P[i] = sum", change), guarded=True)
        with pytest.raises(IndexError, match=f"wrote outside P, {where}"):
            mine.call(*arrays(50, 5))


def test_own_cpp_that_does_not_compile_names_the_line():
    with pytest.raises(toolchain.CompileFailed, match=r"yours.cpp:5"):
        baselines.conv1d_from_cpp(RIGHT.replace("float sum = 0;", "float sum = ;"))


def test_own_cpp_without_the_function_says_what_is_expected():
    with pytest.raises(LookupError, match=r"no function 'conv1d'.*expected extern"):
        baselines.conv1d_from_cpp("int nothing;")


# ---- the baselines of a convolution layer ----

LAYER_KEYS = ["numpy", "one_core", "swapped", "all_cores"]


def layer_arrays(images, channels, maps, rows, columns, width, seed=0):
    random = np.random.default_rng(seed)
    shapes = (images, channels, rows, columns), (maps, channels, width, width)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


WRONG_LAYERS = {
    "flipped": lambda x, f, out: np.copyto(out, reference.conv2d(x, f[:, :, ::-1, ::-1])),
    "transposed filter": lambda x, f, out: np.copyto(out, reference.conv2d(x, f.swapaxes(2, 3))),
    "output maps in another order": lambda x, f, out: np.copyto(out, reference.conv2d(x, f[::-1])),
    "one image left out": lambda x, f, out: np.copyto(out[1:], reference.conv2d(x, f)[1:]),
    "last column left out": lambda x, f, out: np.copyto(
        out[..., :-1], reference.conv2d(x, f)[..., :-1]
    ),
    "one channel only": lambda x, f, out: np.copyto(
        out, reference.conv2d(x[:, :1].copy(), f[:, :1].copy())
    ),
    "nothing written": lambda x, f, out: out.fill(np.nan),
    "filter as float16": lambda x, f, out: np.copyto(
        out, reference.conv2d(x, f.astype(np.float16).astype(np.float32))
    ),
}


@pytest.mark.parametrize(
    ("kind", "compute"),
    [
        *(pytest.param(baselines.Baseline, compute, id=name) for name, compute in WRONG.items()),
        *(
            pytest.param(baselines.LayerBaseline, compute, id=f"layer, {name}")
            for name, compute in WRONG_LAYERS.items()
        ),
    ],
)
def test_a_wrong_baseline_may_not_be_used(kind, compute):
    with pytest.raises(baselines.BaselineError, match=r"wrong on purpose.*may not be timed"):
        baselines.require_correct(kind("wrong on purpose", "", compute))


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [(baselines.Baseline, reference.conv1d), (baselines.LayerBaseline, reference.conv2d)],
)
def test_a_right_baseline_may_be_used(kind, oracle):
    baselines.require_correct(
        kind("right", "", lambda cells, filter, out: np.copyto(out, oracle(cells, filter)))
    )


def test_keys_and_names_of_the_layer_baselines():
    found = baselines.conv2d()
    assert list(found) == LAYER_KEYS
    names = [baseline.name for baseline in found.values()]
    assert names[:3] == ["NumPy", "C++, one core", "C++, one core, loops swapped"]
    assert found["all_cores"].name == baselines.conv1d()["all_cores"].name


@pytest.mark.parametrize("key", LAYER_KEYS)
@settings(max_examples=25, deadline=None)
@given(
    images=st.integers(1, 3),
    channels=st.integers(1, 4),
    maps=st.integers(1, 9),
    rows=st.integers(0, 9),
    columns=st.integers(0, 50),
    width=st.integers(1, 7),
)
def test_every_layer_baseline_agrees_with_the_oracle(
    key, images, channels, maps, rows, columns, width
):
    x, filter = layer_arrays(images, channels, maps, rows + width, columns + width, width)
    got = baselines.conv2d()[key].call(x, filter)
    assert got.dtype == np.float32
    assert got.shape == (images, maps, rows + 1, columns + 1)
    bound = 2.0**-24 * (filter[0].size + 1) * np.abs(filter).sum(axis=(1, 2, 3)).max()
    assert np.abs(got - reference.conv2d(x, filter)).max() <= bound


def test_a_layer_baseline_by_hand():
    # y[0, 0] = 1 * 1 + 2 * 10 + 4 * 100 + 5 * 1000; the filter is not flipped, and x is the column.
    x = np.array([[[[1, 2, 3], [4, 5, 6]]]], np.float32)
    filter = np.array([[[[1, 10], [100, 1000]]]], np.float32)
    for key in LAYER_KEYS:
        assert baselines.conv2d()[key].call(x, filter).tolist() == [[[[5421, 6532]]]]


def test_bad_input_to_a_layer_baseline_is_explained():
    x, filter = layer_arrays(2, 3, 4, 9, 10, 3)
    call = baselines.conv2d()["one_core"].call
    with pytest.raises(TypeError, match="x is float64"):
        call(x.astype(np.float64), filter)
    with pytest.raises(ValueError, match="ascontiguousarray"):
        call(x[:, :, :, ::2], filter)
    with pytest.raises(ValueError, match=r"expected \(B, C, H, W\) and \(M, C, K, K\)"):
        call(x[0], filter)
    with pytest.raises(ValueError, match="x has 3 channels and filter 2"):
        call(x, np.ascontiguousarray(filter[:, :2]))
    with pytest.raises(ValueError, match="filter is larger than the image"):
        call(x, np.ones((1, 3, 11, 11), np.float32))
    with pytest.raises(ValueError, match=r"out has shape \(2, 4, 7, 7\); expected \(2, 4, 7, 8\)"):
        call(x, filter, np.empty((2, 4, 7, 7), np.float32))
    with pytest.raises(ValueError, match="shares memory"):
        call(x, filter, x.ravel()[: 2 * 4 * 7 * 8].reshape(2, 4, 7, 8))
