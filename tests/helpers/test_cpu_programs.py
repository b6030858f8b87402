"""The measurements of the lab on CPU baselines: what their records say, and their figures."""

import pytest

from helpers import device
from helpers.bench import results
from helpers.experiments import cpu_programs
from helpers.problems import baselines
from helpers.simulator.compile import toolchain


@pytest.fixture(scope="module")
def network():
    return results.load(results.MEASURED / "400_mlp.json")


RIGHT = """
using Index = long long;
extern "C" void conv1d(float* P, const float* N, const float* filter, Index n, Index width) {
    for (Index i = 0; i < n; ++i) {
        P[i] = 0;
        for (long long j = 0; j < width; ++j) {
            const long long cell = i + j - width / 2;
            if (0 <= cell && cell < n) P[i] += N[cell] * filter[j];
        }
    }
}
"""


def test_every_program_is_measured_here_and_stands_beside_the_record():
    record = results.load(results.MEASURED / "400_conv1d_baselines.json")
    mine = {"right": RIGHT, "wrong": RIGHT.replace("width / 2", "width"), "no C++": "float"}
    here = cpu_programs.here(mine, budget_s=0.01)
    programs = baselines.conv1d()
    assert list(here) == [*programs, *mine]
    assert [here[name].ms is None for name in mine] == [False, True, True]
    lines = cpu_programs.here_table(here, record).splitlines()
    assert len(lines) == 2 + len(here) + 2
    assert [line.split()[-1] for line in lines[2:4]] == ["-", record.sources["conv1d.cpp"][:8]]
    assert lines[-4].startswith("yours: not yet") and "-O3" in lines[-2] and "-O3" in lines[-1]
    for line, one in zip(lines[2:], programs.values(), strict=False):
        assert line.startswith(one.name)
        assert all(float(number) > 0 for number in line.split()[-4:-1])


def test_a_program_that_is_right_for_few_cells_only_is_not_timed():
    late = RIGHT.replace("width / 2;", "width / 2 + (i > 100'000);")
    assert cpu_programs.yours(RIGHT) is not None
    assert cpu_programs.yours(late) is None


def test_the_figure_has_a_diamond_for_each_program_that_is_right():
    record = results.load(results.MEASURED / "400_conv1d_baselines.json")
    rows = {row["key"]: row["series"] for row in record.rows()}
    timed = {key: cpu_programs.Here(name, 8.0) for key, name in rows.items()}
    timed["swapped"] = cpu_programs.Here(rows["swapped"], 2.0)
    timed |= {"a": cpu_programs.Here("a", None), "b": cpu_programs.Here("b", 4.0)}
    (ax,) = cpu_programs.convolutions_figure(record, timed).axes
    assert ax.get_title(loc="left").endswith("4.0 here")
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[-2:] == ["yours: not yet", "b"]
    (diamonds,) = (line for line in ax.lines if line.get_label().startswith("this machine"))
    assert list(diamonds.get_xdata())[-3:] == [4.0, 1.0, 2.0]
    assert len(diamonds.get_xdata()) == len(timed) - 1


def test_a_row_names_source_compiler_and_flags():
    rows = {row["key"]: row for row in cpu_programs.measure_convolutions(budget_s=0.01)}
    assert "cpu_source" not in rows.pop("numpy")
    for row in rows.values():
        assert row["cpu_source"] == "conv1d.cpp"
        assert row["compiler"] == toolchain.find_compiler().version
        assert row["flags"].startswith("-O3 ")


def test_a_record_has_the_hash_of_a_cpu_program_and_sees_a_change(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path))
    host = device.Device("host", "cpu", (0, 0), "test", None, None, None, None, None)
    row = {"series": "plain", **baselines.provenance("conv1d"), "timing": None}
    made = results.record("cpu", lambda: [row], device=host, lab="test", needs_gpu=False)
    assert set(made.sources) == {"conv1d.cpp"}
    assert made.changed_sources() == ()
    text = baselines.cpu_source("conv1d")
    (tmp_path / "conv1d.cpp").write_text(text.replace("2048;", "1024;  // a comment"))
    monkeypatch.setattr(results, "CPU_SOURCES", tmp_path)
    assert made.changed_sources() == ("conv1d.cpp",)
    (tmp_path / "conv1d.cpp").write_text(text + "// only a comment\n")
    assert made.changed_sources() == ()


@pytest.mark.parametrize("name", ["400_conv1d_baselines", "400_filter_width", "400_mlp"])
def test_the_records_name_the_compiler_and_the_source_as_it_is(name):
    record = results.load(results.MEASURED / f"{name}.json")
    made = [row for row in record.rows() if row.get("key") != "numpy"]
    assert all(row["compiler"] and row["flags"].startswith("-O3 ") for row in made)
    assert record.sources and record.changed_sources() == ()
    assert made[0]["compiler"] in cpu_programs.cpu_of(record)


LOOP_IN_A_LOOP = """
conv1d_other:
.L9:
	vmulss	(%rax), %xmm0
	jne	.L9
conv1d_one_core:
.LFB1:
	.cfi_startproc
.L2:
	addq	$1, %rcx
.L3:
	addq	$4, %rax	# a comment with mul
	cmpq	%rax, %rbx
	jne	.L3
.L4:
	vmovss	(%rdi),  %xmm1
	vfmadd231ss	(%rdx), %xmm1, %xmm0
	jl	.L4
	jne	.L2
	.cfi_endproc
"""


def test_the_loop_that_is_shown_is_the_innermost_one_that_multiplies():
    assert cpu_programs.first_loop(LOOP_IN_A_LOOP, "conv1d_one_core") == [
        "vmovss (%rdi), %xmm1", "vfmadd231ss (%rdx), %xmm1, %xmm0", "jl .L4",
    ]  # fmt: skip
    with pytest.raises(LookupError, match="no function conv1d_swapped"):
        cpu_programs.first_loop(LOOP_IN_A_LOOP, "conv1d_swapped")
    without = LOOP_IN_A_LOOP.replace("vfmadd231ss", "vaddss")
    with pytest.raises(LookupError, match="no loop that multiplies"):
        cpu_programs.first_loop(without, "conv1d_one_core")


def test_the_compilers_own_loops_are_found():
    for key in cpu_programs.LOOPS:
        assert len(cpu_programs.inner_loop(key)) > 3


def test_a_step_of_a_chain_takes_some_cycles():
    # Two cycles at least on every processor of today, and below 6 GHz.
    chain = cpu_programs.chain_here()
    assert 0.3 < chain.addition < 20
    assert 0.3 < chain.multiply_add < 100


def test_chains_predict_what_their_latency_and_number_say():
    chain = cpu_programs.Chain(addition=0.5, multiply_add=2.0)
    assert [chain.of(key) for key in cpu_programs.LOOPS] == [0.5, 1.0, 0.5, 0.25]
    lines = cpu_programs.chain_table_here(chain, (3, 7)).splitlines()
    names = {key: program.name for key, program in baselines.conv1d().items()}
    for line, key in zip(lines[-4:], cpu_programs.LOOPS, strict=True):
        assert line.startswith(names[key])
        predicted, *measured = map(float, line.split()[-3:])
        assert predicted == chain.of(key)
        assert min(measured) > 0


def test_the_reports_speedups_are_over_its_own_plain_program():
    reported = cpu_programs.reported()
    assert reported["unrolled by 4"] == pytest.approx(73.43245 / 66.23826)
    assert reported["16 threads"] == pytest.approx(7.53 / 1.65)


def test_idle_threads_explain_most_of_16_threads_and_little_of_one(network):
    assert cpu_programs.idle_share(network, 16) > 80
    assert cpu_programs.idle_share(network, 1) < 20
