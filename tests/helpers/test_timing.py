"""timing: the statistics on simulated noise, the order of what is enqueued, and refusals. No test
asserts a time.
"""

import gc
import math
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from helpers import device
from helpers.bench import gpu_clock, sampling, statistics, timing
from helpers.bench.timing import Comparison, NoClockError, NotCheckedError, Timing
from helpers.checking import check, gpu_faults
from helpers.checking.gpu_faults import DeviceLostError
from tests.processes import python

VERDICT = check([1.0], [1.0], rtol=0.0)
TRIES = 100


class Machine:
    """Draws times of about 1 ms, disturbed as real machines are. ``a`` and ``b`` share its state.
    """

    def __init__(self, noise: str, seed: int, ratio: float = 1.0):
        self.rng, self.noise, self.ratio = np.random.default_rng(seed), noise, ratio
        self.count, self.slow = 0, 0.0

    def b(self) -> float:
        self.count += 1
        return max(getattr(self, f"_{self.noise}")(), 1e-3)

    def a(self) -> float:
        return self.ratio * self.b()

    def _gaussian(self):
        return 1 + 0.03 * self.rng.normal()

    def _heavy_tail(self):
        return 1 + 0.01 * abs(self.rng.standard_t(1.5)) + 2 * (self.rng.random() < 0.05)

    def _drift(self):
        return (1 + 0.003 * self.count) * (1 + 0.01 * self.rng.normal())

    def _autocorrelated(self):
        self.slow = 0.95 * self.slow + 0.02 * self.rng.normal()
        return math.exp(self.slow)

    def _every_second_call_is_slow(self):
        return 1 + 0.1 * (self.count % 2) + 0.01 * self.rng.normal()

    def _two_clocks(self):
        return 1 + 0.2 * (self.count // 17 % 2) + 0.01 * self.rng.normal()

    def _coarse_clock(self):
        return 0.5 + round(2 * self._gaussian()) / 2


NOISES = [name[1:] for name in vars(Machine) if name.startswith("_") and not name.startswith("__")]


def compared(machine: Machine, seed: int) -> tuple[float, float, float]:
    pairs = sampling.take_pairs(machine.a, machine.b, 1e9, 0.01, np.random.default_rng(seed))
    return statistics.ratio_interval(*pairs, level=sampling.PAIR_LEVEL)


# --------------------------------------------------------------------------------------------------
# Intervals of simulated noise


@pytest.mark.parametrize("noise", NOISES)
def test_the_same_thing_twice_is_no_difference_in_95_of_100_tries(noise):
    contained = 0
    for seed in range(TRIES):
        _, low, high = compared(Machine(noise, seed), seed)
        contained += low <= 1 <= high
    assert contained >= 95


@pytest.mark.parametrize("noise", NOISES)
def test_five_percent_are_found_and_measured(noise):
    found = contained = 0
    for seed in range(TRIES):
        _, low, high = compared(Machine(noise, seed, ratio=1.05), seed)
        found += low > 1
        contained += low <= 1.05 <= high
    assert found >= 95 and contained >= 95


def test_an_interval_that_trusts_drift_would_fail_this_test():
    """The test of the tests: without pairs and random order, drift is taken for a difference."""
    wrong = 0
    for seed in range(20):
        machine = Machine("drift", seed)
        first, second = [machine.b() for _ in range(50)], [machine.b() for _ in range(50)]
        _, low, high = statistics.ratio_interval(first, second, level=sampling.PAIR_LEVEL)
        wrong += not low <= 1 <= high
    assert wrong == 20


def test_the_interval_of_the_median_holds_what_it_promises_although_sampling_stops_early():
    contained = 0
    for seed in range(2000):
        samples = sampling.take(Machine("gaussian", seed).b, 1e9, 0.01)
        timed = Timing.of("a", samples, what="cpu", device="d")
        contained += timed.low <= 1 <= timed.high
    assert contained >= 0.95 * 2000


# --------------------------------------------------------------------------------------------------
# Sampling


def test_sampling_stops_when_the_interval_is_narrow_or_time_is_up():
    assert len(sampling.take(lambda: 1.0, 1e9, 0.01)) == 10
    assert len(sampling.take(Machine("gaussian", 1).b, 1e9, 1e-6)) == sampling.MAX_SAMPLES
    assert 10 < len(sampling.take(Machine("gaussian", 1).b, 1e9, 0.01)) < sampling.MAX_SAMPLES
    assert len(sampling.take(Machine("gaussian", 1).b, 0.0, 0.01)) == sampling.FEWEST_SAMPLES
    coarse = iter([1.0, 1.5] * 500)
    # No finer than the clock.
    assert len(sampling.take(lambda: next(coarse), 1e9, 0.01, step=0.5)) == 10


def test_pairs_are_interleaved_in_random_order():
    calls = []
    pairs = sampling.take_pairs(
        lambda: calls.append("a") or Machine("gaussian", len(calls)).b(),
        lambda: calls.append("b") or Machine("gaussian", len(calls)).b(),
        1e9,
        1e-9,
        np.random.default_rng(3),
    )
    each = ["".join(calls[i : i + 2]) for i in range(0, len(calls), 2)]
    assert len(pairs[0]) == len(pairs[1]) == len(each) == sampling.PAIR_LOOKS[-1]
    assert set(each) == {"ab", "ba"} and 150 < each.count("ab") < 250
    assert (
        len(sampling.take_pairs(lambda: 1.0, lambda: 1.0, 1e9, 0.01, np.random.default_rng(0))[0])
        == 25
    )
    assert (
        len(sampling.take_pairs(lambda: 1.0, lambda: 2.0, 0, 0.01, np.random.default_rng(0))[0])
        == 10
    )


# --------------------------------------------------------------------------------------------------
# Records


def test_a_timing_round_trips_and_speaks():
    timed = Timing.of(
        "conv1d", np.linspace(1, 2, 21) / 3, what="kernel", device="GPU", cache="hot", launches=4
    )
    assert Timing.from_dict(timed.to_dict()) == timed
    assert timed.n == 21 and timed.samples[0] == 0.3333333 and timed.median == 0.5
    assert str(timed).startswith(
        "conv1d: 0.5 ms (95 % interval 0.4"
    ) and "kernel, hot cache, GPU" in str(timed)
    with pytest.raises(TypeError):
        Timing.from_dict(timed.to_dict() | {"mean": 1.0})


def test_an_interval_is_never_narrower_than_the_clock():
    timed = Timing.of("a", [0.002] * 30, what="kernel", device="d", step=0.0005)
    assert (timed.low, timed.high) == (0.00175, 0.00225)


def test_a_comparison_says_when_there_is_no_difference():
    a = Timing.of("tiled", [2.1] * 20, what="kernel", device="d")
    b = Timing.of("basic", [2.0] * 20, what="kernel", device="d")
    assert str(Comparison(1.002, 0.99, 1.01, a, b)).startswith(
        "no measurable difference between tiled and basic"
    )
    assert str(Comparison(1.05, 1.04, 1.06, a, b)).startswith(
        "tiled takes 1.05 times as long as basic (ratio 1.0500"
    )
    assert str(Comparison(0.5, 0.49, 0.51, b, a)).startswith("tiled takes 2 times as long as basic")


# --------------------------------------------------------------------------------------------------
# Host


def work() -> float:
    return sum(range(2000))


def test_time_cpu_measures_with_the_collector_off_and_puts_it_back():
    states = []
    timed = timing.time_cpu(lambda: states.append(gc.isenabled()), name="work", budget_s=0.05)
    assert (
        timed.what == "cpu"
        and timed.cache is None
        and timed.clocks is None
        and timed.device == timing.cpu_name()
    )
    assert timed.n >= sampling.FEWEST_SAMPLES and 0 < timed.low <= timed.median <= timed.high
    assert timed.launches > 1  # far shorter than the least sample, so it is batched
    assert not any(states[-timed.n * timed.launches :]) and gc.isenabled()
    gc.disable()
    try:
        timing.time_cpu(work, name="work", budget_s=0.0)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_time_cpu_refuses_bad_settings_and_failed_checks():
    for wrong in ({"budget_s": -1}, {"budget_s": math.nan}, {"precision": 0}, {"precision": 2}):
        with pytest.raises(ValueError):
            timing.time_cpu(work, name="work", **wrong)
    with pytest.raises(NotCheckedError):
        timing.time_cpu(work, name="work", verdict=False)
    assert timing.time_cpu(work, name="work", verdict=VERDICT, budget_s=0.0)


def test_the_same_host_call_twice_is_no_difference():
    """On the real machine. With random order inside pairs each comparison of ten pairs misses 1
    with a probability of at most 1 %, whatever else the machine does: five misses of twelve happen
    once in ten million runs.
    """
    comparisons = [
        timing.compare_cpu(work, work, names=("a", "b"), budget_s=0.0, seed=seed)
        for seed in range(12)
    ]
    assert sum(c.low <= 1 <= c.high for c in comparisons) >= 8


def test_twice_the_work_on_the_host_is_found():
    def double():
        work()
        work()
        work()

    # Three times the work: no burst of other load hides this from the median of pairs.
    comparison = timing.compare_cpu(
        double, work, names=("more", "less"), budget_s=0.2, precision=0.05
    )
    assert comparison.low > 1 and "more takes" in str(comparison)
    assert comparison.a.n == comparison.b.n >= 10 and comparison.a.median > comparison.b.median


# --------------------------------------------------------------------------------------------------
# GPU, without one: a driver that writes down what it is told. Real runs are in the tests marked gpu
# below.


class Told:
    """Stands in for pycuda.driver: keeps the order of calls; a launch takes ``launch_ms`` of its
    GPU's time.
    """

    def __init__(self, launch_ms: float):
        self.log, self.launch_ms, self.now = [], launch_ms, 0.0
        told = self

        class Stream:
            pass

        class Event:
            def record(self, stream):
                told.log.append(("event", stream))
                self.at = told.now

            def synchronize(self):
                told.log.append(("wait", None))

            def time_till(self, other):
                return other.at - self.at

        self.Stream, self.Event = Stream, Event
        self.Context = SimpleNamespace(synchronize=lambda: told.log.append(("synchronize", None)))

    def memset_d32_async(self, buffer, value, count, stream):
        self.log.append(("flush", stream))
        self.flushed = 4 * count

    def hold_back(self, nanoseconds, *, block, grid, stream):
        self.log.append(("hold", stream))

    def launch(self, stream):
        self.log.append(("launch", stream))
        self.now += self.launch_ms


@pytest.fixture
def told(monkeypatch):
    def make(launch_ms: float) -> Told:
        driver = Told(launch_ms)
        gpu = gpu_clock.Gpu(driver, "Some GPU", 1 << 20, "0000:01:00.0")
        monkeypatch.setattr(timing, "_gpu", lambda name: gpu)
        monkeypatch.setattr(gpu_clock, "_hold_kernel", lambda bus_id: driver.hold_back)
        monkeypatch.setattr(gpu_clock, "_flush_buffer", lambda bus_id, l2_bytes: "buffer")
        monkeypatch.setattr(gpu_clock, "read_clocks", lambda bus_id: {"clocks.sm": 1980.0})
        return driver

    return make


def test_a_cold_sample_flushes_holds_and_times_one_launch_on_one_stream(told):
    driver = told(0.5)
    timed = timing.time_gpu(driver.launch, verdict=VERDICT, name="k", budget_s=0.01)
    assert [what for what, _ in driver.log[-6:]] == [
        "flush",
        "hold",
        "event",
        "launch",
        "event",
        "wait",
    ]
    assert len({stream for what, stream in driver.log if what != "wait"}) == 1
    assert driver.flushed == 2 << 20
    assert timed.median == pytest.approx(0.5) and timed.launches == 1 and timed.n == 10
    assert (timed.what, timed.cache, timed.device) == ("kernel", "cold", "Some GPU")
    assert timed.clocks == {"before": {"clocks.sm": 1980.0}, "after": {"clocks.sm": 1980.0}}


def test_a_hot_sample_is_not_flushed_and_short_launches_are_batched(told):
    driver = told(0.002)
    timed = timing.time_gpu(driver.launch, verdict=VERDICT, name="k", cache="hot", budget_s=0.01)
    assert timed.launches in (25, 26) and timed.median == pytest.approx(0.002)
    whats = [what for what, _ in driver.log[-timed.launches - 4 :]]
    assert whats == ["hold", "event", *["launch"] * timed.launches, "event", "wait"]
    assert "flush" not in {what for what, _ in driver.log}
    driver = told(0.5)
    assert (
        timing.time_gpu(
            driver.launch, verdict=VERDICT, name="k", cache="hot", budget_s=0.01
        ).launches
        == 1
    )


def test_compare_interleaves_two_launches_and_finds_their_ratio(told):
    driver = told(0.5)

    def twice(stream):
        driver.launch(stream)
        driver.launch(stream)

    both = timing.compare(
        twice, driver.launch, verdicts=(VERDICT,) * 2, names=("two", "one"), budget_s=0.1
    )
    assert (
        both.ratio == pytest.approx(2)
        and both.a.n == both.b.n == 25
        and both.a.clocks == both.b.clocks
    )
    hot = timing.compare(
        twice,
        driver.launch,
        verdicts=(VERDICT,) * 2,
        names=("two", "one"),
        cache="hot",
        budget_s=0.1,
    )
    assert hot.ratio == pytest.approx(2)
    # Each hot sample is preceded by a launch of its own before the hold and the first event.
    whats = [what for what, _ in driver.log]
    last_hold = len(whats) - 1 - whats[::-1].index("hold")
    assert whats[last_hold - 1] == "launch"


def test_end_to_end_waits_on_both_sides(told):
    driver = told(0.5)
    timed = timing.time_end_to_end(
        lambda: driver.launch(None), verdict=VERDICT, name="k", budget_s=0.01
    )
    whats = [what for what, _ in driver.log]
    assert (
        whats[0] == "synchronize"
        and set(whats[1::2]) == {"launch"}
        and set(whats[2::2]) == {"synchronize"}
    )
    assert timed.what == "end to end" and timed.cache is None


def test_two_calls_are_compared_end_to_end(told):
    driver = told(0.5)

    def call():
        driver.launch(None)

    def longer():
        call()
        time.sleep(0.002)

    both = timing.compare_end_to_end(
        longer, call, verdicts=(VERDICT,) * 2, names=("longer", "call"), budget_s=0.1, precision=0.5
    )
    whats = [what for what, _ in driver.log]
    assert whats[0] == "synchronize"
    assert set(whats[1::2]) == {"launch"} and set(whats[2::2]) == {"synchronize"}
    assert both.ratio > 1 and both.a.n == both.b.n >= 10
    assert both.a.median >= 2 and both.a.what == both.b.what == "end to end" and both.a.clocks


def test_an_unchecked_launch_is_not_timed():
    for verdict in (None, False, True, "PASS"):
        with pytest.raises(NotCheckedError, match="conv1d has not passed a check"):
            timing.time_gpu(print, verdict=verdict, name="conv1d")
        with pytest.raises(NotCheckedError):
            timing.time_end_to_end(print, verdict=verdict, name="conv1d")
        with pytest.raises(NotCheckedError):
            timing.compare(print, print, verdicts=(VERDICT, verdict), names=("a", "b"))
        with pytest.raises(NotCheckedError):
            timing.compare_end_to_end(print, print, verdicts=(VERDICT, verdict), names=("a", "b"))


def test_the_cache_has_two_states(told):
    told(0.5)
    with pytest.raises(ValueError, match="lukewarm"):
        timing.time_gpu(print, verdict=VERDICT, name="k", cache="lukewarm")


def test_the_simulator_has_no_clock(monkeypatch):
    monkeypatch.setattr(device, "select", lambda: SimpleNamespace(kind="simulator"))
    calls = [
        lambda: timing.time_gpu(print, verdict=VERDICT, name="conv1d"),
        lambda: timing.time_end_to_end(print, verdict=VERDICT, name="conv1d"),
        lambda: timing.compare(print, print, verdicts=(VERDICT,) * 2, names=("conv1d", "b")),
        lambda: timing.compare_end_to_end(
            print, print, verdicts=(VERDICT,) * 2, names=("conv1d", "b")
        ),
    ]
    for call in calls:
        with pytest.raises(
            NoClockError, match="cannot time conv1d: the simulator does not model time"
        ):
            call()


def test_clocks_are_read_from_nvidia_smi_or_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_clock.read_clocks("0") is None
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\necho "1980, 2619, 1980, 2619, [N/A], 120.50"\n')
    program.chmod(0o755)
    assert gpu_clock.read_clocks("0")[
        "clocks.mem"
    ] == 2619.0 and "temperature.gpu" not in gpu_clock.read_clocks("0")
    program.write_text("#!/bin/sh\nexit 9\n")
    assert gpu_clock.read_clocks("0") is None


@pytest.mark.parametrize(
    "message",
    [
        "cuEventSynchronize failed: an illegal memory access was encountered",
        "cuCtxSynchronize failed: unspecified launch failure",
        "cuMemcpyDtoH failed: misaligned address",
        "cuCtxSynchronize failed: the launch timed out and was terminated",
    ],
)
def test_a_gpu_fault_says_that_the_context_is_lost(monkeypatch, message):
    monkeypatch.delitem(sys.modules, "pycuda", raising=False)
    words = r"conv1d_basic.*context is lost.*Restart the notebook's kernel"
    with (
        pytest.raises(DeviceLostError, match=words) as caught,
        gpu_faults.device_faults("conv1d_basic"),
    ):
        raise RuntimeError(message)
    assert isinstance(caught.value.__cause__, RuntimeError) and message in str(caught.value)


def test_other_errors_and_the_simulators_pass_unchanged(monkeypatch):
    monkeypatch.delitem(sys.modules, "pycuda", raising=False)
    for error in (
        RuntimeError("cuLaunchKernel failed: too many resources requested for launch"),
        MemoryError("cuMemAlloc failed: out of memory"),
        KeyError("x"),
    ):
        with pytest.raises(type(error)) as caught, gpu_faults.device_faults("k"):
            raise error
        assert caught.value is error
    simulator = ModuleType("pycuda")
    simulator._halo_simulator = True
    monkeypatch.setitem(sys.modules, "pycuda", simulator)
    with pytest.raises(RuntimeError, match="illegal memory access"), gpu_faults.device_faults("k"):
        raise RuntimeError("an illegal memory access was encountered")


# --------------------------------------------------------------------------------------------------
# GPU, with one


COPY = """
extern "C" __global__ void copy(float* P, const float* N, int n, int times)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < times; ++k) {
        if (i < n) P[i] = N[i] + k;
    }
}
"""


@pytest.fixture
def launcher():
    """make(n) -> a launch of a copy of n floats on the real GPU."""
    device.select()
    import pycuda.driver as cuda
    from pycuda.compiler import SourceModule

    copy = SourceModule(COPY, no_extern_c=True).get_function("copy")

    def make(n: int):
        source, target = cuda.mem_alloc(4 * n), cuda.mem_alloc(4 * n)
        cuda.memset_d32(source, 0, n)

        def launch(stream):
            copy(
                target,
                source,
                np.int32(n),
                np.int32(1),
                block=(256, 1, 1),
                grid=(-(-n // 256), 1),
                stream=stream,
            )

        return launch

    return make


@pytest.mark.gpu
@pytest.mark.parametrize("cache", ["cold", "hot"])
@pytest.mark.parametrize("n", [1000, 10_000_000])
def test_gpu_timings_are_plausible(launcher, cache, n):
    gpu, launch = device.select(), launcher(n)
    timed = timing.time_gpu(launch, verdict=VERDICT, name="copy", cache=cache, budget_s=1.0)
    assert timed.device == gpu.name and timed.what == "kernel"
    assert timed.n >= sampling.FEWEST_SAMPLES
    if n > gpu.l2_bytes / 8 and gpu.dram_bandwidth and cache == "cold":
        assert timed.median * 1e-3 > 8 * n / gpu.dram_bandwidth  # not faster than DRAM
    if n == 1000:
        # The host's cost of a launch and a synchronization, several times this kernel's time, is
        # not in it.
        end_to_end = timing.time_end_to_end(
            lambda: launch(None), verdict=VERDICT, name="copy", budget_s=0.5
        )
        assert timed.median < end_to_end.median


@pytest.mark.gpu
@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_the_same_launch_twice_is_no_difference(launcher, cache):
    # Each comparison misses 1 with a probability of at most 5 %: 9 of 40 misses have one below 1 in
    # 5,000.
    launch = launcher(1_000_000)
    comparisons = [
        timing.compare(
            launch,
            launch,
            verdicts=(VERDICT,) * 2,
            names=("a", "a"),
            cache=cache,
            budget_s=0.3,
            seed=seed,
        )
        for seed in range(40)
    ]
    assert sum(c.low <= 1 <= c.high for c in comparisons) >= 32


@pytest.mark.gpu
def test_five_percent_more_cells_are_found(launcher):
    more, less = launcher(52_500_000), launcher(50_000_000)
    comparison = timing.compare(
        more, less, verdicts=(VERDICT,) * 2, names=("more", "less"), budget_s=2.0
    )
    assert 1 < comparison.low <= comparison.ratio < 1.1


@pytest.mark.gpu
def test_a_real_fault_is_reported_as_a_lost_context():
    """In a process of its own, which loses its context."""
    code = """
import numpy as np
from helpers import checking, device
from helpers.bench import timing
from helpers.checking import gpu_faults
device.select()
from pycuda.compiler import SourceModule
bad = SourceModule("__global__ void bad(float* P) { P[1ll << 40] = 1; }").get_function("bad")
verdict = checking.check([1.0], [1.0], rtol=0)
try:
    timing.time_gpu(lambda s: bad(np.uint64(0), block=(1, 1, 1), stream=s), verdict=verdict,
        name="bad")
except gpu_faults.DeviceLostError as error:
    print("lost:", error)
"""
    run = python("-c", code)
    assert "lost: the GPU stopped in bad" in run.stdout, run.stderr
