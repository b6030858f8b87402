"""The simulator's machine on its way to the workers of a cluster: one that starts later, on a
computer with an empty cache, then needs neither minutes nor a compiler.
"""

from __future__ import annotations

import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path

from helpers.simulator.compile import toolchain
from helpers.simulator.machine import library


@dataclass(frozen=True)
class Machine:
    """A library that was built on one computer. of: what another one must have in common with it,
    since it uses the processor's own instructions.
    """

    data: bytes
    of: tuple[str, ...]

    @classmethod
    def built(cls) -> Machine:
        """Build it here, where it is not built."""
        return cls(library.build().read_bytes(), _computer())

    def take(self, folder: Path) -> bool:
        """Let this process use it, from a file in the folder; whether it can be used here. Else
        the process builds its own.
        """
        if self.of != _computer():
            return False
        folder.mkdir(parents=True, exist_ok=True)
        file, name = tempfile.mkstemp(prefix="halo-machine-", suffix=".so", dir=folder)
        with os.fdopen(file, "wb") as out:
            out.write(self.data)
        os.chmod(name, 0o755)
        library.use(Path(name))
        return True


def _computer() -> tuple[str, ...]:
    return platform.system(), platform.machine(), *platform.libc_ver(), toolchain.processor()


def plugin(machine: Machine) -> object:
    """Return what Dask calls on each worker, on those that come later, too."""
    from distributed import WorkerPlugin

    class TakeMachine(WorkerPlugin):
        name = "halo-machine"

        def setup(self, worker) -> None:
            machine.take(Path(worker.local_directory))

    return TakeMachine()
