"""The part of PyCUDA that the labs use, run by the simulator: it has the same names, signatures,
exceptions and refusals.

install() makes `import pycuda.driver`, `pycuda.compiler`, `pycuda.gpuarray` ... resolve to the
modules of this package. findings() returns the findings of launches, copies and the host's
accesses. HALO_DEVICES=2 gives two simulated devices (_devices.py).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
import warnings

from ._account import to_dicts as account
from ._devices import devices
from ._errors import SimulatorWarning
from ._findings import findings
from ._order import account_in_words, keep_account

__all__ = [
    "PyCUDAImportedError", "SimulatorWarning", "account", "account_in_words", "devices",
    "findings", "install", "installed", "keep_account",
]

# autoprimaryctx and autoinit make a context when they are imported, so they wait for the user's
# import.
_AT_ONCE = (
    "driver", "compiler", "gpuarray", "tools", "characterize", "cumath", "curandom", "elementwise",
    "reduction", "scan"
)
_ON_IMPORT = ("autoprimaryctx", "autoinit")


class PyCUDAImportedError(RuntimeError):
    """The real PyCUDA is already imported, so the simulator cannot take its names."""


class _Finder:
    """Finds the modules that must run at import, and raises an error for modules that only the real
    PyCUDA has.
    """

    @staticmethod
    def find_spec(fullname: str, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        if package != "pycuda" or not installed():
            return None
        if name not in _ON_IMPORT:
            raise ModuleNotFoundError(
                f"no module named {fullname!r} in the simulator, which stands in for PyCUDA on "
                f"this machine: it has pycuda.{', pycuda.'.join((*_AT_ONCE, *_ON_IMPORT))}",
                name=fullname,
            )
        return importlib.machinery.ModuleSpec(fullname, _Loader())


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return importlib.import_module(f"{__name__}.{spec.name.rpartition('.')[2]}")

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: create_module has imported the module."""


def installed() -> bool:
    """Return whether `import pycuda` resolves to the simulator."""
    return getattr(sys.modules.get("pycuda"), "_halo_simulator", False)


def install() -> None:
    """Make `import pycuda...` resolve to the simulator; a second call does nothing.

    Raises PyCUDAImportedError if the real PyCUDA is already imported.
    """
    if installed():
        return
    if "pycuda" in sys.modules:
        raise PyCUDAImportedError(
            "the real PyCUDA is already imported in this process, so the simulator cannot take its "
            "name. Restart the kernel and call device.select() before the first `import pycuda`"
        )
    package = types.ModuleType("pycuda", "PyCUDA, as far as the simulator stands in for it.")
    package.__dict__.update(
        _halo_simulator=True, VERSION=(2026, 1), VERSION_STATUS="", VERSION_TEXT="2026.1"
    )
    package.__path__ = []
    package.__spec__ = importlib.machinery.ModuleSpec("pycuda", None, is_package=True)
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in _AT_ONCE}
    sys.modules["pycuda"] = package
    for name, module in modules.items():
        sys.modules[f"pycuda.{name}"] = module
        setattr(package, name, module)
    sys.meta_path.insert(0, _Finder)
    # Python shows a warning once for each line, but a cell that runs again must show its races
    # again.
    warnings.filterwarnings("always", category=SimulatorWarning, append=True)
