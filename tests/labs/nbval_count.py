"""A pytest plugin (`-p tests.labs.nbval_count`): kernels of nbval are forks of one process that
draw no pixels, and the end of the report says how many notebook cells nbval really compared with
their stored outputs.

nbval passes a cell silently when there is nothing to compare: no tag in lax mode, no stored output,
a cell that was never run. A notebook of which nothing was compared has only been shown to run, so
it fails the session here.
"""

from __future__ import annotations

from collections import Counter

import helpers.labs.jsonschema_import  # noqa: F401

# isort: split
import pytest
from nbval.plugin import IPyNbCell

from helpers.tools import forked_kernels

SKIPPED = {"image/png", "image/jpeg"}  # nbval leaves these out of its comparison


# Of a report, so that it comes from the process that ran the cell: [notebook, whether].
PROPERTY = "nbval compared"


class Comparisons:
    def __init__(self):
        self.cells: Counter[str] = Counter()
        self.compared: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        # A notebook's kernel starts before its first cell. nbval compares no picture.
        with forked_kernels.importing("helpers.tools.undrawn_figures"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        result = yield
        if isinstance(item, IPyNbCell):
            item.user_properties.append((PROPERTY, [item.path.name, was_compared(item)]))
        return result

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            for notebook, compared in (
                value for name, value in report.user_properties if name == PROPERTY
            ):
                self.cells[notebook] += 1
                self.compared[notebook] += compared

    def vacuous(self) -> list[str]:
        return sorted(notebook for notebook in self.cells if not self.compared[notebook])

    def pytest_sessionfinish(self, session):
        if self.vacuous() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if not self.cells:
            return
        terminalreporter.section("stored outputs compared by nbval")
        for notebook, count in sorted(self.cells.items()):
            terminalreporter.line(
                f"{notebook}: {self.compared[notebook]} of {count} cells that passed"
            )
        terminalreporter.line(f"all: {self.compared.total()} of {self.cells.total()}")
        for notebook in self.vacuous():
            terminalreporter.line(
                f"ERROR {notebook}: nothing was compared; tag cells nbval-check-output", red=True
            )


def was_compared(item: IPyNbCell) -> bool:
    """Whether a cell that passed had something to pass."""
    return (
        item.options["check"]
        and item.cell.execution_count is not None
        and has_text(item.cell.outputs)
    )


def has_text(outputs) -> bool:
    """Whether a cell's outputs hold anything that nbval compares; of an error it compares name and
    message.
    """
    return any(
        output.output_type in ("stream", "error") or set(output.get("data", {})) - SKIPPED
        for output in outputs
    )


def pytest_configure(config):
    forked_kernels.use()
    config.pluginmanager.register(Comparisons(), "nbval-comparisons")
