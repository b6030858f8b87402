"""Runs CUDA kernels on the CPU, finds their faults, and counts their memory traffic.

`activate()` lets `import pycuda` find the simulator. `check` and `profile` always run their launch
in the simulator, also on a computer with a GPU.

NVIDIA's own compiler translates a source to PTX. The machine (machine/*.cpp) executes the PTX, a
warp of 32 lanes at a time. `helpers.simulator.launch.launch` lists what the machine models and what
it does not. It has no clock, so it never reports how long a kernel takes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

try:
    import numpy as np
except ModuleNotFoundError:
    if sys.argv[:1] != ["-m"]:
        raise
    sys.exit(
        "python -m helpers.simulator: NumPy is not installed for this Python. Activate the "
        "environment first (. .venv/bin/activate), which `make env` makes"
    )

from .compile import compiler, compiler_options
from .compile.toolchain import CompileFailed
from .findings.findings import Finding
from .launch import instructions
from .launch.launch import CHECKS, Extents, LaunchReport, Watch, extents
from .launch.launch import launch as run_launch
from .launch.machine_counters import profile_of
from .launch.numpy_arguments import Arguments, set_constants
from .launch.profile import Profile
from .machine.faults import LaunchFault, LaunchRefused
from .machine.traffic import LineTraffic, Request, Requests
from .program.module import Kernel, UnknownKernel, load

if TYPE_CHECKING:
    from .explain import Tape

__all__ = [
    "CompileFailed", "Finding", "LineTraffic", "Profile", "Request", "Requests", "activate",
    "check", "execute", "profile", "record", "turns",
]


# A launch with findings of at most so many threads, with arrays of so many bytes, is recorded for
# at most so many seconds when somebody asks for their values.
_RECORD_THREADS, _RECORD_BYTES, _RECORD_S = 1 << 12, 1 << 20, 5.0


def activate() -> None:
    """Make `import pycuda.driver`, `pycuda.compiler`, `pycuda.gpuarray` ... find the simulator.

    Raises RuntimeError if the program has already imported the real PyCUDA.
    """
    from . import pycuda_api

    pycuda_api.install()


def profile(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    watch: Watch = ((0, 0, 0), 0),
    sample_every: int = 1,
    outputs: Sequence[str] | None = None,
    time_limit: float | None = None,
    checks: bool = True,
) -> Profile:
    """Run kernel `name` of CUDA `source` once, and return its counters and findings.

    args: NumPy arrays (they are copied to the device, and copied back unless a finding stops the
    launch; arrays that overlap share their memory there), NumPy scalars, or device allocations of
    the simulator, each of the type that the kernel's signature has; grid, block: up to three
    extents; shared: bytes of dynamic shared memory; options: options of nvcc, such as -D...;
    constants: values for `__constant__` symbols; watch: (block, warp) whose requests
    `Profile.requests` lists one by one, or (block, None) for those of all its warps; sample_every:
    run every n-th block only (the result says so); outputs: as for `check`; time_limit: seconds;
    checks: whether to look for faults. Without checks the counters are the same, in about half the
    time, and the only finding is a fault that stops the launch: this is for counting with a kernel
    that a check has passed.

    Raises CompileFailed, TypeError or ValueError for arguments that do not fit the kernel, and
    faults.LaunchRefused.
    """
    launched = _launch(
        source, name, args, (*(CHECKS if checks else ()), "traffic", "instructions"),
        options=options, constants=constants, grid=grid, block=block, shared=shared, watch=watch,
        sample_every=sample_every, outputs=outputs if checks else (), time_limit=time_limit,
        counts=True,
    )
    return dataclasses.replace(profile_of(*launched, shared), checked=checks)


def turns(source: str, name: str, *args, **launch: Any) -> int:
    """Count how often warps turn the loops of a kernel in one launch, as the source writes them:
    before the compiler unrolls any.

    launch: grid, block, and if wanted shared, options, constants and time_limit; they and args are
    those of `profile`, and the arrays stay unchanged. Raises instructions.NoSourceForm if no
    translation keeps the loops.
    """
    args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    observe = ("instructions",)
    report, kernel, *_ = _launch(source, name, args, observe, as_written=True, **launch)
    return instructions.backward_branches(kernel.counted, report.executed)


def execute(
    source: str, name: str, *args, without_products: bool = False, **launch: Any
) -> None:
    """Run one launch for its outputs alone: without counters, and without a look for races or for
    elements that nobody has written. A fault or a time limit ends it, and says nothing.

    without_products: matrix instructions (mma, wmma) multiply by 0, so that their sums are what
    they add to; launch: as for `turns`, and sample_every. The exceptions are those of `profile`.
    """
    observe = ("bounds", "barriers", *(("without_products",) if without_products else ()))
    _launch(source, name, args, observe, **launch)


def record(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] | None = None,
    time_limit: float | None = None,
    **more: Any,
) -> Tape:
    """Run one small launch, and return the record of what every thread did (explain.Tape).

    The arguments are those of `profile` and `check`, but the arrays stay unchanged: `Tape.outputs`
    has the results. The launch runs in the translation that a debugger gets, whose floats may be
    rounded otherwise. time_limit: seconds, by default 5. more: blocks, changes, barriers, schedule
    and until of explain.record_launch.

    Raises explain.NotRecorded, which says why, for a launch that cannot be recorded; otherwise the
    exceptions of `profile`.
    """
    from .explain.recorder import record_launch

    blocks, threads = extents(grid, "grid"), extents(block, "block")
    with _loaded(source, name, options, constants, rehearses=False) as kernel:
        return record_launch(
            kernel, args, blocks, threads, shared, outputs, time_limit or _RECORD_S, **more
        )


def check(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] | None = None,
    time_limit: float | None = None,
) -> tuple[Finding, ...]:
    """Run one launch as `profile` does, without counting, and return its findings: an empty tuple
    if it has no fault.

    outputs: names of the pointer parameters whose arrays the kernel must write completely. These
    arrays start as fresh device memory, whatever the NumPy arrays hold. Reading an element before
    it is written is a finding, and so is an element that is never written.
    Without `outputs`, the outputs are the arrays of floats that hold only NaN and whose parameter
    is not const.
    A launch that a GPU would refuse is a finding ("resources"). Otherwise `check` raises the
    exceptions that `profile` raises.
    """
    try:
        report, *_ = _launch(
            source, name, args, CHECKS, options=options, constants=constants,
            grid=grid, block=block, shared=shared, outputs=outputs, time_limit=time_limit,
        )
    except LaunchRefused as refusal:
        return (refusal.finding,)
    return report.findings


def _launch(
    source: str,
    name: str,
    args: tuple,
    observe: tuple[str, ...],
    *,
    grid: Sequence[int],
    block: Sequence[int],
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] | None = (),
    time_limit: float | None = None,
    as_written: bool = False,
    counts: bool = False,
    **more: Any,
) -> tuple[LaunchReport, Kernel, Extents, Extents]:
    """Compile a source, and run one launch of its kernel. as_written: of the translation that
    keeps the loops of the source; counts: of the PTX that nvcc writes; more: arguments of
    launch.launch.
    """
    blocks, threads = extents(grid, "grid"), extents(block, "block")
    rehearses = as_written or "initialisation" in observe
    with _loaded(source, name, options, constants, rehearses, counts) as kernel:
        if as_written:
            if kernel.rehearsal is None:
                raise instructions.NoSourceForm(
                    f"there is no translation of {name} that keeps the loops of its source"
                )
            kernel = kernel.rehearsal
        is_small = "races" in observe and _is_small(args, blocks, threads)
        given = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args if is_small)
        with Arguments(kernel, args, outputs) as packed:
            try:
                report = run_launch(
                    kernel, packed.buffer, blocks, threads, observe=observe,
                    outputs=packed.outputs, time_limit=time_limit, **more,
                )
                packed.copy_back()
            except LaunchFault as fault:
                report = fault.report
        if is_small and report.findings:
            from .explain.finding_values import with_values

            again = functools.partial(
                _recorded_again, source, name, given, grid=blocks, block=threads,
                shared=more.get("shared", 0), options=options, constants=constants,
                outputs=outputs, time_limit=_RECORD_S,
            )  # fmt: skip
            report = dataclasses.replace(report, findings=with_values(report.findings, again))
        return report, kernel, blocks, threads


def _recorded_again(source: str, name: str, given: tuple, **launch: Any) -> Tape:
    """Record a launch whose arrays are as they were before it. Memory that nothing had written is
    taken anew: the launch has written it since.
    """
    unwritten = [a.copy() for a in given if not isinstance(a, np.ndarray | np.generic)]
    left = iter(unwritten)
    args = [a if isinstance(a, np.ndarray | np.generic) else next(left) for a in given]
    try:
        return record(source, name, *args, **launch)
    finally:
        for one in unwritten:
            one.close()


def _is_small(args: tuple, grid: Extents, block: Extents) -> bool:
    """Return whether a launch is recorded when somebody asks for the values of its findings."""
    nbytes = sum(getattr(a, "nbytes", 0) for a in args)
    is_of_arrays = all(
        isinstance(a, np.ndarray | np.generic) or (hasattr(a, "copy") and hasattr(a, "close"))
        for a in args
    )
    count = math.prod(grid) * math.prod(block)
    return is_of_arrays and nbytes <= _RECORD_BYTES and count <= _RECORD_THREADS


@contextlib.contextmanager
def _loaded(
    source: str,
    name: str,
    options: Sequence[str],
    constants: Mapping[str, np.ndarray] | None,
    rehearses: bool,
    counts: bool = False,
) -> Iterator[Kernel]:
    """Compile a source and yield a kernel of it, whose module has the values of its constants.
    rehearses, counts: as of module.load. The exceptions are those of `profile`.
    """
    is_name = isinstance(source, str) and "\n" not in source and source.endswith(".cu")
    if not isinstance(source, str) or is_name:
        got = f"the name {source!r}" if is_name else type(source).__name__
        raise TypeError(
            f"the source is a text of CUDA, got {got}: give the text of a .cu "
            "file, such as pathlib.Path(...).read_text()"
        )
    if not isinstance(name, str):
        raise TypeError(
            f"the kernel's name is a text, got {type(name).__name__} ({name!r}): give the name of "
            'a __global__ function, such as "scale"'
        )
    if isinstance(options, str):
        raise TypeError(f'options takes a list, such as options=["{options}"], got {options!r}')
    compiler.require_text(source, options)
    compiler_options.require_sound(options)
    plain = name.partition("<")[0].rpartition("::")[2]  # of "layers::scale<4>"
    module = load(source, tuple(options), f"{plain}.cu", rehearses=rehearses, counts=counts)
    try:
        try:
            kernel = module.kernels[name]
        except UnknownKernel as error:
            raise ValueError(str(error)) from None
        set_constants(module, constants or {})
        yield kernel
    finally:
        module.close()
