"""Lab 503: the same work by CUDA, by cuDNN and cuBLAS, by torch.compile and by Triton.

    python -m helpers.experiments.at_work        # on a GPU: measure, write the record, print it

Each of `JOBS` is done by every tool that is there, in FP16 (the chain in FP32), and checked before
it is timed. What is not installed is left out, with the reason. Library wheels are needed for the
measurement only; the lab shows the committed record elsewhere.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, device, kernels, tables
from helpers.bench import cudnn, gemms, layers, results, timing
from helpers.launch import Array, Launch
from helpers.limits import ConvShape
from helpers.problems import conv2d, gemm
from helpers.programs import Program, launcher
from helpers.quantities import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.device import Device

NAME, LAB = "503_at_work", "503_what_would_you_use"
CUDA, TORCH, COMPILED, TRITON, CUTLASS = TOOLS = (
    "CUDA",
    "PyTorch",
    "torch.compile",
    "Triton",
    "CUTLASS",
)
NO_CUTLASS = "it has no Python wheel here, and was not measured"
BUDGET_S, TRIAL_S = 0.15, 0.03  # seconds for a timing, and for one of several sizes
CELLS = 2**26  # of the chain
PLAIN = "plain_products.cuh"  # for the simulator alone: nobody needs to write it for a GPU
COMMAND = "python -m helpers.experiments.at_work"
NOT_YET = (
    f"not measured yet: data/measured/{NAME}.json is not there. On a machine with a GPU, PyTorch "
    f"and Triton:\n    {COMMAND}"
)

# The chain, y = max(2 x + 1, 0) / 2, in CUDA: a thread has four cells.
CHAIN_CUDA = """\
extern "C" __global__ void chain(float4* y, const float4* x, int vectors)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) {
        const float4 a = x[i];
        y[i] = make_float4(fmaxf(2 * a.x + 1, 0) * 0.5f, fmaxf(2 * a.y + 1, 0) * 0.5f,
                           fmaxf(2 * a.z + 1, 0) * 0.5f, fmaxf(2 * a.w + 1, 0) * 0.5f);
    }
}
"""

Row = dict[str, Any]
Run = Callable[[Any], Any]  # enqueues on a PyCUDA stream; None is the default stream
TritonSizes = tuple[int, ...]  # HIGH, WIDE, DEPTH, warps, stages


@dataclass(frozen=True)
class Job:
    """One piece of work.

    words: what it is. ours: the name of our kernel, "" for CHAIN_CUDA. call: what one types in
    PyTorch. triton: the function of triton_kernels. sizes: of Triton's program, which are all
    tried. product: its rows, columns and inner size; shape: of a layer; both None for the chain.
    """

    words: str
    ours: str
    call: str
    triton: str
    sizes: tuple[TritonSizes, ...]
    product: tuple[int, int, int] | None = None
    shape: ConvShape | None = None


LARGE_TILES = ((128, 256, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 32, 4, 4))
THIN_TILES = ((16, 64, 128, 4, 4), (16, 128, 64, 4, 4), (16, 32, 256, 4, 3))
JOBS: dict[str, Job] = {
    "chain": Job(
        f"y = relu(2 x + 1) / 2 of {CELLS:,} floats",
        "",
        "torch.relu(2 * x + 1) * 0.5",
        "chain",
        ((1024, 4), (2048, 8), (4096, 8)),
    ),
    "product": Job(
        "4,096 x 4,096 by 4,096 x 4,096 halves",
        "gemm_wgmma",
        "A @ X",
        "product",
        LARGE_TILES,
        product=(4096, 4096, 4096),
    ),
    "thin product": Job(
        "16 x 4,096 by 4,096 x 4,096 halves",
        "gemm_wgmma",
        "A @ X",
        "product",
        THIN_TILES,
        product=(16, 4096, 4096),
    ),
    "3 x 3 layer": Job(
        "128 images of 56 x 56, 64 channels, 64 maps, halves",
        "conv2d_implicit_wgmma",
        "torch.nn.functional.conv2d(x, filter)",
        "layer",
        ((128, 64, 64, 4, 3), (128, 64, 32, 4, 4), (256, 64, 32, 8, 3)),
        shape=conv2d.KNOWN_LAYERS["ResNet-50, 56 x 56"],
    ),
    "7 x 7 layer": Job(
        "10,000 images of 40 x 40, 4 channels, 16 maps, halves: LeNet's second",
        "conv2d_wgmma",
        "torch.nn.functional.conv2d(x, filter)",
        "layer",
        ((128, 16, 32, 4, 3), (256, 16, 32, 4, 3), (256, 16, 64, 8, 3)),
        shape=conv2d.shape_of("layer 2", 10_000),
    ),
}


# --------------------------------------------------------------------------------------------------
# What is here, and what it costs to write


def missing() -> dict[str, str]:
    """Return why each tool cannot be measured here; "" for one that can."""
    if device.select().kind != "gpu":
        return {**dict.fromkeys(TOOLS, "there is no GPU here"), CUTLASS: NO_CUTLASS}
    no_torch = cudnn.why_not()
    no_triton = "" if importlib.util.find_spec("triton") else "Triton is not installed"
    return {
        CUDA: "",
        TORCH: no_torch,
        COMPILED: no_torch,
        TRITON: no_torch or no_triton,
        CUTLASS: NO_CUTLASS,
    }


def lines_of(job: Job) -> dict[str, int]:
    """Return how many lines of code one writes with each tool, launches of kernels left out. For
    CUDA these are the lines of our kernel and of what it uses of its headers.
    """
    ours = _used_code(kernels.source(job.ours)) if job.ours else _without_comments(CHAIN_CUDA)
    return {
        CUDA: sum(bool(line.strip()) for line in ours.splitlines()),
        TORCH: len(job.call.splitlines()),
        COMPILED: len(job.call.splitlines()) + 1,  # the decorator
        TRITON: len(triton_source(job.triton).splitlines()),
    }


_DEFINED = re.compile(
    r"^#define\s+(\w+)"
    r"|\b(?:struct|enum|union)\s+(\w+)"
    r"|^typedef\b[^;]*?\b(\w+)(?:\[[^\]]*\])*;"
    r"|^(?:constexpr|const|__device__ const|__constant__)\b[^(={;]*?\b(\w+)\s*[\[=;{]"
    r"|^[^#\n(=;]*?\b(\w+)\s*\([^;{]*\)\s*(?:const\s*)?\{",
    re.MULTILINE,
)


_KEYWORDS = {"if", "for", "while", "constexpr"}  # with a parenthesis and a brace, as a function has


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def _used_code(text: str) -> str:
    """Return the code of a source and of the definitions in its headers that it uses, directly or
    through others, without comments.
    """
    code, left = _without_comments(text), list(_definitions(_headers(text)))
    while True:
        words = set(re.findall(r"\w+", code))
        pasted = tuple(re.findall(r"(\w+)##", code))  # the beginnings of names that macros join
        used = [
            part for part in left if words & (names := _names_of(part))
            or any(name.startswith(pasted) for name in names)
        ]
        if not used:
            return code
        code = "\n".join((code, *used))
        left = [part for part in left if part not in used]


def _headers(text: str) -> str:
    """Return the headers of kernels/ that a source includes, each once."""
    included: dict[str, str] = {}

    def add(text: str) -> None:
        for name in re.findall(r'^#include "(.+)"', text, re.MULTILINE):
            if name not in (*included, PLAIN):
                included[name] = (kernels.FOLDER / name).read_text(encoding="utf-8")
                add(included[name])

    add(text)
    return "\n\n".join(included.values())


def _definitions(text: str) -> Iterator[str]:
    """Yield the definitions of a header: texts that an empty line outside of braces divides."""
    part = ""
    for piece in re.split(r"\n\s*\n", _without_comments(text)):
        part += f"{piece}\n"
        if part.count("{") == part.count("}"):
            if part.strip():
                yield part
            part = ""


def _names_of(part: str) -> set[str]:
    """Return the names that a definition gives, or the macro that it calls."""
    names = {name for found in _DEFINED.findall(part) for name in found if name} - _KEYWORDS
    if part.startswith("#define"):
        names |= set(re.findall(r"\bvoid (\w+)\(", part))  # functions that the macro makes
    called = re.match(r"(\w+)\(", part)
    return names or ({called[1]} if called else set())


def triton_source(name: str) -> str:
    """Return the source of a function of triton_kernels, without its docstring and empty lines."""
    text = (Path(__file__).parents[1] / "problems" / "triton_kernels.py").read_text()
    (function,) = (
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    doc = function.body[0]
    first, last = function.decorator_list[0].lineno, function.end_lineno
    lines = text.splitlines()
    kept = [*lines[first - 1 : doc.lineno - 1], *lines[doc.end_lineno or 0 : last]]
    return "\n".join(line for line in kept if line.strip())


def effort_table() -> str:
    """Return the lines that one writes for each job with each tool."""
    rows = []
    for name, job in JOBS.items():
        lines = lines_of(job)
        rows.append((name, job.words, *(str(lines[tool]) for tool in TOOLS[:-1])))
    return tables.text(("job", "what", *TOOLS[:-1]), rows, left=(0, 1))


def here_words() -> str:
    """Return which tools can be measured here."""
    return "\n".join(f"{tool}: {reason or 'here'}" for tool, reason in missing().items())


# --------------------------------------------------------------------------------------------------
# The measurement


def measure(budget_s: float = BUDGET_S) -> Iterator[Row]:
    """Check and time every job with every tool that is here.

    Raises checking.CheckError for a kernel of ours that is wrong. What PyTorch or Triton refuse is
    left out, with a reason.
    """
    reasons = missing()
    for name, job in JOBS.items():
        print(f"{name}: {job.words}", flush=True)
        done = _by_layer if job.shape else _by_product if job.product else _by_chain
        for row in done(job, budget_s, reasons):
            yield row | {"job": name}
        for tool, reason in reasons.items():
            if reason:
                yield {"series": tool, "job": name, "left_out": reason, "timing": None}


def _timed(tool: str, what: str, run: Run, verdict: checking.Verdict, budget_s: float) -> Row:
    time = timing.time_gpu(run, verdict=verdict, name=f"{tool}, {what}", budget_s=budget_s)
    return {"series": tool, "ran": what, "timing": time}


def _fastest(tool: str, runs: Mapping[str, tuple[Run, checking.Verdict]], budget_s: float) -> Row:
    """Return the row of the fastest of several sizes."""
    trials = {
        what: timing.time_gpu(run, verdict=verdict, name=what, budget_s=TRIAL_S).median
        for what, (run, verdict) in runs.items()
    }
    what = min(trials, key=lambda one: trials[one])
    return _timed(tool, what, *runs[what], budget_s)


@contextlib.contextmanager
def _left_out(tool: str, rows: list[Row]) -> Iterator[None]:
    """Put what a library refuses into a row in place of a time."""
    try:
        yield
    except Exception as error:
        expected = RuntimeError, checking.CheckError, TypeError, ValueError
        library = type(error).__module__.startswith(("torch", "triton"))
        if not (isinstance(error, expected) or library):
            raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        print(f"{tool} is left out: {reason}", flush=True)
        rows.append({"series": tool, "left_out": reason, "timing": None})


class TorchCall:
    """A function of PyTorch's tensors, which enqueues on a PyCUDA stream and keeps its result."""

    def __init__(self, function: Callable[..., Any], *arguments: Any):
        self._function, self._arguments, self.y = function, arguments, None
        self._torch = cudnn.require("FP16")

    def launch(self, stream: Any = None) -> None:
        """Enqueue the call; None is the default stream."""
        self.y = None  # so that PyTorch reuses its memory
        torch = self._torch
        with torch.no_grad(), torch.cuda.stream(cudnn.on_stream(torch, stream)):
            self.y = self._function(*self._arguments)

    def result(self) -> np.ndarray:
        """Launch, wait, and return the result on the host, as float32."""
        self.launch()
        self._torch.cuda.synchronize()
        return self.y.float().cpu().numpy()  # type: ignore[attr-defined]


def _written(
    output: Any, got: np.ndarray, want: np.ndarray, atol: float, run: Run, name: str
) -> checking.Verdict:
    """Run once on an output full of NaN, and check what it holds then. output: a device address;
    got: the array that it is copied to.
    """
    import pycuda.driver as cuda

    cuda.memset_d8(output, 0xFF, got.nbytes)  # NaN
    run(None)
    cuda.Context.synchronize()
    cuda.memcpy_dtoh(got, output)
    return checking.check(got.astype(np.float32), want, rtol=0.0, atol=atol, name=name)


def _checked(
    runs: Mapping[str, Run], written: Callable[[Run, str], checking.Verdict]
) -> dict[str, tuple[Run, checking.Verdict]]:
    """Return each run with the verdict on what it has written."""
    return {what: (run, written(run, what)) for what, run in runs.items()}


def _tiles(sizes: Sequence[int]) -> str:
    return f"tiles of {sizes[0]} x {sizes[1]}, {sizes[2]} deep"


def _by_chain(job: Job, budget_s: float, reasons: Mapping[str, str]) -> Iterator[Row]:
    import pycuda.driver as cuda

    x = np.random.default_rng(503).random(CELLS, np.float32) * 4 - 2
    want = np.maximum(2 * x + 1, 0) * np.float32(0.5)
    there = {"x": cuda.to_device(x), "y": cuda.mem_alloc(x.nbytes)}
    written = partial(_written, there["y"], np.empty_like(x), want, 1e-6)
    vectors = Array("y", (CELLS,)), Array("x", (CELLS,)), np.int32(CELLS // 4)
    blocks = -(-CELLS // 4 // 256)
    plan = (Launch(CHAIN_CUDA, "chain", (), (blocks, 1, 1), (256, 1, 1), arguments=vectors),)
    addresses = {name: int(address) for name, address in there.items()}
    ours = launcher(Program(plan), addresses)
    yield _timed(CUDA, "four cells a thread", ours, written(ours, CUDA), budget_s)
    rows: list[Row] = []
    if not reasons[TORCH]:
        torch = cudnn.require("FP32")
        cells = cudnn.borrowed(addresses["x"], x.shape)

        def chain(x: Any) -> Any:
            return torch.relu(2 * x + 1) * 0.5

        for tool, function in ((TORCH, chain), (COMPILED, cudnn.compiled(chain))):
            with _left_out(tool, rows):
                call = TorchCall(function, cells)
                verdict = checking.check(call.result(), want, rtol=0.0, atol=1e-6, name=tool)
                rows.append(_timed(tool, job.call, call.launch, verdict, budget_s))
                call.y = None
    if not reasons[TRITON]:
        from helpers.problems import triton_kernels

        y = cudnn.borrowed(addresses["y"], x.shape)

        def chain_of(block: int, warps: int) -> None:
            grid = (-(-CELLS // block),)
            triton_kernels.chain[grid](y, cells, CELLS, BLOCK=block, num_warps=warps)

        with _left_out(TRITON, rows):
            runs = {
                f"blocks of {sizes[0]:,}": TorchCall(chain_of, *sizes).launch for sizes in job.sizes
            }
            rows.append(_fastest(TRITON, _checked(runs, written), budget_s))
    yield from rows
    for address in there.values():
        address.free()


def _by_product(job: Job, budget_s: float, reasons: Mapping[str, str]) -> Iterator[Row]:
    import pycuda.driver as cuda

    assert job.product is not None
    rows_, cols, inner = job.product
    A, X = gemm.matrices(rows_, cols, inner, np.float16)
    want = gemm.reference(A, X)
    atol = gemm.atol(A, X, want)
    Y = np.empty((rows_, cols), np.float16)
    there = {name: cuda.to_device(array) for name, array in (("Y", Y), ("A", A), ("X", X))}
    addresses = {name: int(address) for name, address in there.items()}
    written = partial(_written, there["Y"], Y, want, atol)
    rows: list[Row] = []
    if device.select().compute_capability == (9, 0):
        ours = launcher(Program(gemm.WGMMA.plan(*job.product)), addresses)
        row = _timed(CUDA, job.ours, ours, written(ours, job.ours), budget_s)
        rows.append(row | {"kernel": job.ours})
    else:
        reason = f"{job.ours} needs compute capability 9.0"
        rows.append({"series": CUDA, "left_out": reason, "timing": None})
    if not reasons[TORCH]:
        library = gemms.cublas(addresses, gemms.Gemm(*job.product, True))
        rows.append(_timed(TORCH, "cuBLAS", library, written(library, "cuBLAS"), budget_s))
        torch = cudnn.require("FP16")
        a, x, y = (
            cudnn.borrowed(addresses[name], array.shape, np.float16)
            for name, array in (("A", A), ("X", X), ("Y", Y))
        )
        with _left_out(COMPILED, rows):
            call = TorchCall(cudnn.compiled(torch.mm), a, x)
            verdict = checking.check(call.result(), want, rtol=0.0, atol=atol, name=COMPILED)
            rows.append(_timed(COMPILED, job.call, call.launch, verdict, budget_s))
    if not reasons[TRITON]:
        from helpers.problems import triton_kernels

        def product(high: int, wide: int, depth: int, warps: int, stages: int) -> None:
            grid = (-(-rows_ // high) * -(-cols // wide),)
            triton_kernels.product[grid](
                y, a, x, rows_, cols, inner, HIGH=high, WIDE=wide, DEPTH=depth, GROUP=8,
                num_warps=warps, num_stages=stages,
            )

        with _left_out(TRITON, rows):
            runs = {_tiles(sizes): TorchCall(product, *sizes).launch for sizes in job.sizes}
            rows.append(_fastest(TRITON, _checked(runs, written), budget_s))
    yield from rows
    for address in there.values():
        address.free()


def _by_layer(job: Job, budget_s: float, reasons: Mapping[str, str]) -> Iterator[Row]:
    assert job.shape is not None
    rows: list[Row] = []
    with layers.layer(shape=job.shape, images=job.shape.B).on_device() as there:
        problem = there.layer
        spec = (
            conv2d.mma_wgmma(1, True) if job.ours == "conv2d_wgmma" else conv2d.implicit_wgmma()
        )
        try:
            ours = there.ready(spec)
        except conv2d.LayerError as error:
            rows.append({"series": CUDA, "left_out": str(error)[:200], "timing": None})
        else:
            row = _timed(CUDA, job.ours, ours.run, ours.verdict, budget_s)
            rows.append(row | {"kernel": job.ours})
        arrays = problem.x, problem.filter
        if not reasons[TORCH]:
            best: dict[str, tuple[float, Row]] = {}
            for one, _, time in cudnn.contenders(
                job.shape,
                *arrays,
                problem.want,
                problem.atol,
                mode="FP16",
                budget_s=budget_s,
                compile_fastest=True,
            ):
                tool = COMPILED if one.way.compiled else TORCH
                if tool not in best or time.median < best[tool][0]:
                    row = {"series": tool, "ran": f"cuDNN, {one.way}", "timing": time}
                    best[tool] = time.median, row
            rows += [row for _, row in best.values()]
            if COMPILED not in best:
                rows.append({"series": COMPILED, "left_out": "it was refused", "timing": None})
        if not reasons[TRITON]:
            with _left_out(TRITON, rows):
                runs = {}
                for sizes in job.sizes:
                    layer = triton_layer(job.shape, *arrays, sizes)
                    runs[layer.name] = layer.launch, layer.check(problem.want, problem.atol)
                rows.append(_fastest(TRITON, runs, budget_s))
    yield from rows


def triton_layer(shape: ConvShape, x: int, filter: int, sizes: TritonSizes) -> Any:
    """Return a cudnn.Convolution whose launch is Triton's layer, in halves.

    x, filter: device addresses, as for cudnn.Convolution. sizes: HIGH, WIDE, DEPTH, warps, stages.
    """
    from helpers.problems import triton_kernels

    class TritonLayer(cudnn.Convolution):
        def __init__(self) -> None:
            super().__init__(shape, x, filter, cudnn.Way("channels_last"), "FP16")
            torch, one = self._torch, self.shape
            self._weights = self._filter.permute(2, 3, 1, 0).reshape(-1, one.M).contiguous()
            outputs = one.B, one.out_h, one.out_w, one.M
            self._out = torch.empty(outputs, dtype=torch.float16, device="cuda")
            self._out.fill_(float("nan"))
            self._y = self._out.permute(0, 3, 1, 2)

        @property
        def name(self) -> str:
            return _tiles(sizes)

        def launch(self, stream: Any) -> None:
            TorchCall(self._enqueue).launch(stream)

        def _enqueue(self) -> None:
            one = self.shape
            high, wide, depth, warps, stages = sizes
            n = one.B * one.out_h * one.out_w
            triton_kernels.layer[(-(-n // high), -(-one.M // wide))](
                self._out, self._x, self._weights, n, one.H, one.W, one.out_h, one.out_w, one.M,
                C=one.C, K=one.K, HIGH=high, WIDE=wide, DEPTH=depth,
                num_warps=warps, num_stages=stages,
            )

    return TritonLayer()


# --------------------------------------------------------------------------------------------------
# The record


def record(gpu: Device) -> Record | None:
    """Measure on a GPU; without one, return the committed record, None where there is none yet."""
    if gpu.kind != "gpu" and not (results.MEASURED / f"{NAME}.json").exists():
        return None
    with contextlib.redirect_stderr(io.StringIO()):  # torch.compile reports each of its trials
        return results.record(NAME, measure, device=gpu, lab=LAB)


def times(found: Record | None) -> dict[str, dict[str, float | None]]:
    """Return ms by job and tool, None for what was not measured."""
    ms: dict[str, dict[str, float | None]] = {job: dict.fromkeys(TOOLS) for job in JOBS}
    for row in found.rows() if found else ():
        if row.get("median_ms") is not None:
            ms[row["job"]][row["series"]] = row["median_ms"]
    return ms


def table(found: Record | None) -> str:
    """Return the times of all jobs and tools, and how many times the best one each takes."""
    if found is None:
        return NOT_YET
    rows = []
    for job, ms in times(found).items():
        best = min((time for time in ms.values() if time is not None), default=None)
        cells = [
            "-" if time is None or best is None else f"{time:.4g} ({time / best:.2f})"
            for time in ms.values()
        ]
        rows.append((job, *cells))
    return tables.text(("ms (over the best)", *TOOLS), rows)


def details(found: Record | None) -> str:
    """Return what each tool ran, and why some were left out."""
    if found is None:
        return NOT_YET
    lines = [
        f"{row['job']}, {row['series']}: {row.get('ran') or row.get('left_out')}"
        for row in found.rows()
        if row["series"] != CUTLASS
    ]
    return "\n".join([*lines, f"{CUTLASS}: {NO_CUTLASS}"])


def fastest(found: Record | None) -> dict[str, tuple[str, ...]]:
    """Return the fastest tools of each job that has a time, as a rule one.

    There are several where the interval of one meets that of the best: no difference is measured.
    """
    rows = [row for row in (found.rows() if found else ()) if row.get("median_ms") is not None]
    won = {}
    for job in JOBS:
        of_job = [row for row in rows if row["job"] == job]
        if of_job:
            best = min(of_job, key=lambda row: row["median_ms"])
            near = [row["series"] for row in of_job if row["low_ms"] <= best["high_ms"]]
            won[job] = tuple(tool for tool in TOOLS if tool in near)
    return won


def over_best(found: Record | None, job: str, tool: str) -> float | None:
    """Return how many times the best time a tool takes for a job; None where it has no time."""
    ms = times(found)[job]
    own = ms[tool]
    return None if own is None else own / min(time for time in ms.values() if time is not None)


def chosen(found: Record | None, choose: Callable[..., str], within: float) -> dict[str, str]:
    """Return which tool a function of (ms, lines, within) chooses for each job that has a time.

    In place of a tool stands the name of the error that the function ends with.
    """
    made = {}
    for name in fastest(found):
        ms, lines = times(found)[name], lines_of(JOBS[name])
        try:
            made[name] = str(choose({tool: ms[tool] for tool in lines}, lines, within))
        except Exception as error:  # the reader's function, which may not be right yet
            made[name] = type(error).__name__
    return made


def choices(found: Record | None, choose: Callable[..., str], within: Sequence[float]) -> str:
    """Return what a function chooses (`chosen`) for each job and each limit, as a table."""
    every = [chosen(found, choose, factor) for factor in within]
    rows = [(name, *(one.get(name, "not measured yet") for one in every)) for name in JOBS]
    heads = ("job", *(f"within {factor:g} times the best" for factor in within))
    return tables.text(heads, rows, left=range(len(heads)))


def figure(found: Record | None) -> Figure:
    """Draw, for each job, every tool's time over the best one's."""
    from helpers import plotting
    from helpers.plotting import styles

    fig, ax = styles.subplots(9, 4.2)
    for number, tool in enumerate(TOOLS[:-1]):
        points = [
            (ratio, y)
            for y, job in enumerate(JOBS)
            if (ratio := over_best(found, job, tool)) is not None
        ]
        shift = 0.15 * (number - 1.5)  # equal times would hide each other
        ax.plot(
            [ratio for ratio, _ in points], [y + shift for _, y in points],
            linestyle="none", markersize=8, label=tool, **styles.series(number),
        )
    for y in range(len(JOBS)):
        ax.axhline(y, color="#dddddd", linewidth=0.7, zorder=0)
    ax.axvline(1, color=styles.INK, linestyle=":")
    ax.set_yticks(range(len(JOBS)), list(JOBS))
    ax.set_ylim(len(JOBS) - 0.5, -0.5)
    ax.set_xscale("log")
    styles.plain_ticks(ax.xaxis, (1, 1.5, 2, 3, 5, 10, 20))
    ax.set_xlabel("time over that of the fastest tool (logarithmic; left is faster)")
    styles.legend_beside(ax)
    plotting.style(ax, _claim(list(fastest(found).values())))
    if found is not None:
        plotting.caption(ax, found)
    return fig


def _claim(won: Sequence[tuple[str, ...]]) -> str:
    if not won:
        return "Nothing is measured yet"
    everywhere = [tool for tool in won[0] if all(tool in tools for tools in won)]
    if everywhere:
        return f"Nothing is faster than {' or '.join(everywhere)} at any job"
    return f"No tool is the fastest at all {len(won)} jobs"


def result(found: Record | None) -> str:
    """Return who wins where, in a sentence."""
    if found is None:
        return NOT_YET.partition(":")[0]
    words = (f"at the {job} {' or '.join(tools)}" for job, tools in fastest(found).items())
    return "fastest " + ", ".join(words)


# --------------------------------------------------------------------------------------------------
# A reader's call

SHOWN = 3  # wrong values


def called(call: Callable[[Any], Any] | None) -> str:
    """Check a reader's chain, a function of x, with NumPy; time it where PyTorch is installed.

    call: uses operators and methods that arrays and tensors share, such as x.clip(min=0). None is
    "yours: not yet".
    """
    if call is None:
        return "yours: not yet"
    x = np.linspace(-3, 3, 13, dtype=np.float32)
    want = np.maximum(2 * x + 1, 0) * np.float32(0.5)
    try:
        got = np.asarray(call(x), np.float32)
        verdict = checking.check(got, want, rtol=0, atol=1e-6, name="your chain")
    except checking.CheckError as error:
        if got.shape != want.shape:
            return str(error)
        # What is wrong is an expression: a diagnosis of threads and of memory would mislead.
        wrong = np.flatnonzero(~(np.abs(got - want) <= 1e-6))
        return "\n".join(
            [
                f"FAIL your chain: {len(wrong)} of {quantity(want.size, 'value')} are wrong",
                *(f"  x = {x[k]:g}: got {got[k]:g}, want {want[k]:g}" for k in wrong[:SHOWN]),
            ]
        )
    except Exception as error:
        return f"FAIL your chain: {type(error).__name__}: {error}"
    said = f"PASS your chain: {verdict.count} values"
    if reason := missing()[TORCH]:
        return f"{said}; not timed here: {reason}"
    torch = cudnn.require("FP32")
    cells = torch.rand(CELLS, device="cuda") * 4 - 2
    right = (torch.relu(2 * cells + 1) * 0.5).cpu().numpy()
    lines = [said]
    for tool, function in ((TORCH, call), (COMPILED, cudnn.compiled(call))):
        one = TorchCall(function, cells)
        verdict = checking.check(one.result(), right, rtol=0.0, atol=1e-6, name=tool)
        time = timing.time_gpu(one.launch, verdict=verdict, name=tool, budget_s=BUDGET_S)
        lines.append(f"{tool}: {time.median:.3f} ms")
    return "\n".join(lines)


def main() -> int:
    """Measure, write the record, print it; without a GPU print the committed one."""
    argparse.ArgumentParser(
        prog="python -m helpers.experiments.at_work", description=main.__doc__
    ).parse_args()
    found = record(device.select())
    print(table(found))
    print(details(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
