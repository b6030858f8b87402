"""An exercise as a grader judges it: on what an answer is tried, what it may use, and what it is
told.

exercise.judge(text, seed=...)    anywhere: the text of the cell; always a Verdict
exercise.run(text, seed)          where the kernel runs, in a box if need be: its outcomes,
                                  without any expected output
exercise.verdict(outcomes, seed)  elsewhere: compares them
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from helpers import checking, kernel_cells
from helpers.exercises.judge import amounts, compiler_words, gate, mutants, work, wrong_values
from helpers.exercises.judge import outcome as outcomes_of
from helpers.exercises.judge.base import NOTEBOOK_SEED, BaseExercise
from helpers.exercises.judge.budgets import Budget, no_doubles
from helpers.exercises.judge.cases import Case, distinct, real_pairs
from helpers.exercises.judge.mistakes import Mistake, misplaced, unwritten, wrapped_index
from helpers.exercises.judge.outcome import DoesNotCompile, Outcome
from helpers.exercises.judge.verdict import Verdict
from helpers.kernel_cells import CellError, KernelCell
from helpers.quantities import quantity
from helpers.simulator.compile.ahead import Ahead
from helpers.simulator.compile.compiler import compile_source

Arrays = np.ndarray | Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class GradedExercise(BaseExercise):
    """An exercise whose answer is a %%kernel cell.

    cases: a function of a generator of random numbers; reference: what should come out of a case,
    an array, or arrays by output; rtol, atol: of a comparison with it; budgets, mistakes:
    as their classes say; counts: how a verdict counts Case.kinds ("size", "sizes"); fit: a case
    with the grid that the -D options of a cell ask for (raises CellError); most_of_a_block: values
    that one block of a case may write; warps_share: whether each warp of a block has its part of
    them (a warp that takes tiles may find none left); turns: whether loops are counted; timed: a
    large case to time on a GPU, else the largest of the others; small: cases of a few blocks and
    values, in which a mistake is explained, else the smallest of the others; reads_outputs: whether
    an answer may read what the launch before it left in an output.
    """

    cases: Callable[[np.random.Generator], Iterator[Case]]
    reference: Callable[[Case], Arrays]
    budgets: tuple[Budget, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    rtol: float = 0.0
    atol: float | Callable[[Case], float] = 0.0
    counts: Mapping[str, str] = field(default_factory=lambda: {"size": "sizes"})
    most_of_a_block: Callable[[Case], int] | None = None
    warps_share: bool = True
    turns: bool = False
    timed: Callable[[np.random.Generator], Case] | None = None
    fit: Callable[[Case, KernelCell], Case] | None = None
    small: Callable[[np.random.Generator], Iterator[Case]] | None = None
    reads_outputs: bool = False

    suffix: ClassVar[str] = ".cu"

    # ---- the texts ----

    @cached_property
    def cell_name(self) -> str:
        """The name in the first line of the notebook's cell."""
        return kernel_cells.name_in(self.stub)

    def is_answer(self, text: str) -> bool:
        """Return whether the text of a cell is an answer to this exercise: its first line says so.
        """
        return kernel_cells.name_in(text) == self.cell_name

    def is_stub(self, text: str) -> bool:
        """Return whether the text of a cell is the stub, up to comments and white space."""
        return kernel_cells.is_same(text, self.stub)

    def accepts(self, cell: KernelCell) -> bool:
        """Return whether a kernel passes the check of a notebook."""
        return self._of_cell(cell, NOTEBOOK_SEED).passed

    def begin(self, cell: KernelCell) -> Ahead | None:
        """Begin to compile a kernel for the notebook's cases: sizes may be constants of a source.
        Return None where the check refuses the kernel before.
        """
        with contextlib.suppress(CellError, gate.Refused):
            gate.check(cell.text)
            gate.check_includes(cell.text)
            cases, _ = _drawn(self.cases, self.reference, NOTEBOOK_SEED)
            return outcomes_of.begin(cell, self.fit_all(cell, cases))
        return None

    # ---- for a grader ----

    def judge(self, text: str, seed: int = NOTEBOOK_SEED) -> Verdict:
        """Judge the text of a %%kernel cell (its first line included) on the cases of a seed."""
        try:
            cell = kernel_cells.parse(text)
        except CellError as error:
            return self._verdict("refused", str(error))
        return self._of_cell(cell, seed)

    def run(self, text: str, seed: int) -> tuple[Outcome, ...]:
        """Run the text of a cell on the cases of a seed. Raises DoesNotCompile,
        kernel_cells.CellError.
        """
        return self._run(kernel_cells.parse(text), seed)

    def all_cases(self, seed: int) -> tuple[Case, ...]:
        """Return the cases of a seed."""
        return tuple(self.cases(np.random.default_rng(seed)))

    @cached_property
    def small_cases(self) -> tuple[Case, ...]:
        """The cases in which a mistake is recognised and explained, the same for every seed. They
        decide nothing.
        """
        if self.small is None:
            return ()
        return tuple(map(distinct, self.small(np.random.default_rng(NOTEBOOK_SEED))))

    def run_small(self, cell: KernelCell) -> tuple[Outcome, ...]:
        """Run a kernel in the small cases, each by itself. Raises DoesNotCompile."""
        cases = self.fit_all(cell, self.small_cases)
        return outcomes_of.checked(cell, cases, limit_s=self.limit_s, each=True)

    def recognised(self, verdict: Verdict, outcomes: Sequence[Outcome]) -> Verdict:
        """Return a verdict with the hint of the mutant that does what an answer does; the same one
        where none does. outcomes: of the answer in the small cases.
        """
        hint = mutants.hint_of(self, outcomes)
        # Parameters in another order are seen in the launch, whatever else leaves the same.
        is_seen = not verdict.is_guess and any(one.misplaced for one in outcomes)
        if is_seen or not hint:
            return verdict
        # The cause of a finding that is seen goes before what another kernel had, too.
        return verdict.because(hint, is_guess=verdict.finding is not None, is_recognised=True)

    def is_recognisable(self, verdict: Verdict) -> bool:
        """Return whether a mutant may do what an answer with this verdict does."""
        return verdict.status in ("wrong", "finding") and self.name in mutants.recorded()

    def _of_cell(self, cell: KernelCell, seed: int) -> Verdict:
        verdict = self._of_any_cell(cell, seed)
        if self.is_recognisable(verdict):
            # A small case may call the kernel in a way that the cases before the wrong one do not.
            with contextlib.suppress(DoesNotCompile):
                verdict = self.recognised(verdict, self.run_small(cell))
        is_stub = not verdict.passed and cell.text and self.is_stub(cell.text)
        if is_stub:
            return verdict.not_begun()
        if verdict.status not in ("wrong", "finding", "time"):
            return verdict
        return verdict.after(compiler_words.remark(self._warnings(cell, seed)))

    def _of_any_cell(self, cell: KernelCell, seed: int) -> Verdict:
        try:
            gate.check(cell.text)
            gate.check_includes(cell.text)
            return self._judged(cell, seed)
        except gate.Refused as refusal:
            return self._verdict("refused", str(refusal))
        except CellError as error:
            return self._verdict("refused", str(error))
        except DoesNotCompile as error:
            first = compiler_words.first_error(str(error), cell.source)
            return self._verdict(
                "compile", f"{self.name} does not compile (line 1 is the %%kernel line):\n{first}"
            )

    def _warnings(self, cell: KernelCell, seed: int) -> str:
        """Return the compiler's warnings on a cell that has run."""
        one = self.fitted(cell, seed)[0].plan(cell)[0]
        return compile_source(one.source, one.options, f"{one.name}.cu").warnings

    def _judged(self, cell: KernelCell, seed: int) -> Verdict:
        """Return the verdict of `_run`, sooner: only what comes out right is counted."""
        cases, wants = _drawn(self.cases, self.reference, seed)
        fitted = self.fit_all(cell, cases)
        outcomes = list(outcomes_of.checked(cell, fitted, limit_s=self.limit_s))
        verdict = self._of_outcomes(cases, outcomes, wants)
        if verdict is None:
            verdict = self._of_counted(cell, cases, fitted, wants, outcomes)
        return _with_printed(verdict, outcomes)

    def _of_counted(
        self,
        cell: KernelCell,
        cases: Sequence[Case],
        fitted: Sequence[Case],
        wants: Sequence[Mapping[str, np.ndarray]],
        outcomes: list[Outcome],
    ) -> Verdict:
        """Run the cases that are counted once more, and put these outcomes in their places."""
        places = amounts.counted(cases)
        again = [fitted[k] for k in places]
        counted = outcomes_of.run(
            cell, again, turns=self.turns, limit_s=self.limit_s, checks=False
        )
        for k, one in zip(places, counted, strict=False):
            if one.stopped:
                return self._of_stop(cases[k], one)
            outcomes[k] = one
        # The points are for what was counted, so that this must have come out right, too.
        wrong = self._of_outcomes(cases, outcomes, wants)
        return self._of_budgets(cases, outcomes) if wrong is None else wrong

    def _run(self, cell: KernelCell, seed: int) -> tuple[Outcome, ...]:
        cases = self.fitted(cell, seed)
        return outcomes_of.run(cell, cases, turns=self.turns, limit_s=self.limit_s)

    def fitted(self, cell: KernelCell, seed: int) -> tuple[Case, ...]:
        """Return the cases of a seed, launched as the options of a cell ask for."""
        return self.fit_all(cell, self.all_cases(seed))

    def fit_all(self, cell: KernelCell, cases: Sequence[Case]) -> tuple[Case, ...]:
        """Return cases, launched as the options of a cell ask for. Raises CellError."""
        return tuple(cases if self.fit is None else (self.fit(case, cell) for case in cases))

    def to_time(self, cell: KernelCell, seed: int) -> Case:
        """Return the case that a GPU times."""
        if self.timed is not None:
            case = self.timed(np.random.default_rng(seed))
            return case if self.fit is None else self.fit(case, cell)
        return max(self.fitted(cell, seed), key=lambda case: case.count)

    def verdict(self, outcomes: Sequence[Outcome], seed: int) -> Verdict:
        """Judge outcomes of the cases of a seed."""
        return _with_printed(self._of_all(outcomes, seed), outcomes)

    def _of_all(self, outcomes: Sequence[Outcome], seed: int) -> Verdict:
        cases, wants = _drawn(self.cases, self.reference, seed)
        if (wrong := self._of_outcomes(cases, outcomes, wants)) is not None:
            return wrong
        counted = [len(one.counts) for one in outcomes]
        if counted != [len(case.steps) for case in cases]:
            return self._verdict("refused", "the counters are not those of these cases")
        return self._of_budgets(cases, outcomes)

    def of_each(self, outcomes: Sequence[Outcome], seed: int) -> tuple[Verdict | None, ...]:
        """Judge each case of a seed by itself, without budgets: None where it came out right.
        outcomes: of the first cases; those without one are left out.
        """
        cases, wants = _drawn(self.cases, self.reference, seed)
        return tuple(
            self._of_outcomes([case], [one], [want])
            for case, one, want in zip(cases, outcomes, wants, strict=False)
        )

    # ---- verdicts ----

    def _of_outcomes(
        self,
        cases: Sequence[Case],
        outcomes: Sequence[Outcome],
        wants: Sequence[Mapping[str, np.ndarray]],
    ) -> Verdict | None:
        """Return the verdict on findings and outputs; None where all outputs are right."""
        if outcomes and outcomes[-1].stopped:
            before = list(zip(cases, outcomes[:-1], wants, strict=False))
            are_right = all(self._is_right(case, one.arrays, want) for case, one, want in before)
            right = cases[: len(before)] if are_right else ()
            return self._of_stop(cases[len(before)], outcomes[-1], right)
        if len(outcomes) != len(cases):
            return self._verdict("refused", f"{len(outcomes)} of {len(cases)} cases were run")
        if not all(_fits(case, one) for case, one in zip(cases, outcomes, strict=True)):
            return self._verdict("refused", "the outputs are not those of these cases")
        return self._of_results(cases, outcomes, wants)

    def _verdict(
        self, status: str, message: str, hint: str = "", checked: str = "", **more: Any
    ) -> Verdict:
        return Verdict.of(self.name, status, message, self.points, hint, checked=checked, **more)

    def _of_stop(self, case: Case, one: Outcome, right: Sequence[Case] = ()) -> Verdict:
        """Return the verdict on a launch that stopped. right: the cases before it, if all of them
        came out right.
        """
        if one.stopped == "refused":
            keep = (
                "The check fills the array in constant memory: it needs this name and this size."
                if " constant '" in f" {one.said}"
                else "Keep the parameters of the stub, in their order."
            )
            is_memory = one.said.startswith("cannot allocate")
            return self._verdict("refused", one.said, "" if is_memory else keep)
        finding = one.findings[0]
        shown = misplaced(case, one.misplaced)
        if finding.kind in ("race", "out-of-bounds") and not wrapped_index(finding):
            shown = wrong_values.only_large((*right, case), [len(right)]) or shown
        if one.stopped == "time":
            return self._verdict(
                "time",
                f"{case.title}: a launch reached its time limit, and was stopped\n"
                f"{finding.brief()}",
                shown or (_TOO_MUCH if right else "Does each loop end, for every thread?"),
                finding=finding,
                is_guess=not shown,
            )
        text = finding.brief() if shown else str(finding)
        return self._verdict(
            "finding", f"{case.title}\n{text}", shown, finding=finding, is_guess=not shown
        )

    def _of_results(
        self,
        cases: Sequence[Case],
        outcomes: Sequence[Outcome],
        wants: Sequence[Mapping[str, np.ndarray]],
    ) -> Verdict | None:
        wrong = [
            k
            for k, case in enumerate(cases)
            if not self._is_right(case, outcomes[k].arrays, wants[k])
        ]
        if not wrong:
            return None
        shown_hint = self._shown_hint(cases, outcomes, wants, wrong)
        hint = shown_hint or self._hint(cases, outcomes, wants, wrong)
        # Of the wrong cases the one with the fewest values that still show a pattern.
        enough = wrong_values.ENOUGH
        shown = min(wrong, key=lambda k: (cases[k].count < enough, abs(cases[k].count - enough)))
        case = cases[shown]
        name = next(
            n
            for n in case.outputs
            if not self._same(case, outcomes[shown].arrays[n], wants[shown][n])
        )
        got, want = real_pairs(outcomes[shown].arrays[name]), real_pairs(wants[shown][name])
        # An unchecked diagnosis of positions would only contradict a hint that explains the values.
        try:
            checking.check(got, want, rtol=self.rtol, atol=self.atol_of(case), name=case.title)
            lines = []
        except checking.CheckError as error:
            text, *_, places = _parts(str(error))
            lines = [text.removeprefix("FAIL "), *places]
            hint = hint or (error.diagnosis.text if error.diagnosis.kind in _SHOWN else "")
        right = (
            f"\nright in {len(cases) - len(wrong)} of {quantity(len(cases), 'case')}"
            if len(wrong) < len(cases)
            else ""
        )
        return self._verdict(
            "wrong", "\n".join(lines) + right, hint or SEARCH, is_guess=not shown_hint
        )

    def _shown_hint(
        self,
        cases: Sequence[Case],
        outcomes: Sequence[Outcome],
        wants: Sequence[Mapping[str, np.ndarray]],
        wrong: Sequence[int],
    ) -> str:
        """Return what the outputs show: of misplaced arrays; that only large cases are wrong; that
        all fractions are cut off; or the mistake that gives just these outputs, in every case.
        """
        for k in wrong:
            if hint := misplaced(cases[k], outcomes[k].misplaced):
                return hint
        # Where sums are rounded, the error grows with the size, too.
        if self._exact and (hint := wrong_values.only_large(cases, wrong)):
            return hint
        pairs = [(outcomes[k].arrays[name], wants[k][name]) for k in wrong for name in wants[k]]
        if wrong_values.without_fractions(pairs):
            return wrong_values.FRACTION
        every = (cases, outcomes, wants, wrong)
        return next((one.hint for one in self.mistakes if self._explains(one, *every)), "")

    def _hint(
        self,
        cases: Sequence[Case],
        outcomes: Sequence[Outcome],
        wants: Sequence[Mapping[str, np.ndarray]],
        wrong: Sequence[int],
    ) -> str:
        """Return what the values themselves say."""
        pairs = [(outcomes[k].arrays[name], wants[k][name]) for k in wrong for name in wants[k]]
        values = [
            (case, name, outcomes[k].arrays[name], wants[k][name])
            for k, case in enumerate(cases)
            for name in case.outputs
        ]
        missing = [unwritten(*value) for value in values]
        if left := sum(map(np.count_nonzero, missing)):
            if left == sum(np.count_nonzero(case.arrays[n] != want) for case, n, _, want in values):
                return "Nothing is written: does any thread reach the store?"
            found = map(wrong_values.where_unwritten, (case for case, *_ in values), missing)
            where = next(filter(None, found), wrong_values.ANYWHERE)
            return f"{quantity(left, 'value')} are never written{where}"
        known = (
            wrong_values.only_one_width(cases, wrong)
            or wrong_values.times(pairs)
            or wrong_values.moved(pairs)
        )
        if known:
            return known
        if any(np.isnan(real_pairs(got)).any() for _, _, got, _ in values):
            return (
                "A NaN was computed, and stored. Does a sum begin with a variable that nothing has "
                "set? The output is one, too: it holds NaN before the launch, and += or atomicAdd "
                "on it gives NaN. Or is a weight read that nobody has filled? (0 / 0 and infinity "
                "- infinity are NaN, too. A value that nobody writes is told otherwise.)"
            )
        return ""

    def _explains(self, mistake: Mistake, cases, outcomes, wants, wrong) -> bool:
        """Return whether a mistake gives the outputs of every case, the right ones too."""
        explains = False
        for k, case in enumerate(cases):
            got = outcomes[k].arrays
            made = mistake.given(case)
            if made is None:  # this case cannot tell
                continue
            made = made if isinstance(made, Mapping) else {case.outputs[0]: made}
            if not all(
                self._same(case, got[name], np.asarray(array)) for name, array in made.items()
            ):
                return False
            explains = explains or k in wrong
        return explains

    def _of_budgets(self, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> Verdict:
        counters: dict[str, tuple[float, float]] = {}
        places = amounts.counted(cases)
        for budget in self._all_budgets(cases):
            worst: tuple[float, float, Case] | None = None
            for case, one in ((cases[k], outcomes[k]) for k in places):
                if not (case.budgeted or budget.everywhere):
                    continue
                amount, most = budget.of(case, one), budget.limit(case)
                if amount < budget.least - 1e-9:
                    text = (
                        f"right, but only {_counted(amount, budget.what)} ({case.title}); at "
                        f"least {_number(budget.least)} {_is_or_are(budget.least)} needed"
                    )
                    hint = budget.if_less or budget.hint
                    return self._verdict(budget.status, text, hint, counters=counters)
                if worst is None or amount * max(worst[1], 1e-9) > worst[0] * max(most, 1e-9):
                    worst = amount, most, case
            if worst is None:
                continue
            amount, most, case = worst
            counters[budget.what] = amount, most
            if amount > most * (1 + 1e-9):
                text = (
                    f"right, but {_counted(amount, budget.what)} ({case.title}); the budget "
                    f"is {_number(most)}"
                )
                return self._verdict(budget.status, text, budget.hint, counters=counters)
        checked = self._checked(cases)
        shown = [
            f"{b.what}: {_number(counters[b.what][0])} (budget {_number(counters[b.what][1])})"
            for b in self.budgets
            if not b.quiet and b.what in counters
        ]
        return self._verdict(
            "pass", "; ".join([checked, *shown]), checked=checked, counters=counters
        )

    def _all_budgets(self, cases: Sequence[Case]) -> Iterator[Budget]:
        yield work.NO_CLOCK
        yield work.NO_STORE_TO_INPUTS
        yield from work.of_blocks(self.most_of_a_block)
        yield from self.budgets
        yield work.NO_FLOAT_INDEX  # an exercise that asks for no such numbers says why by itself
        yield no_doubles(_NO_DOUBLES)
        if self.most_of_a_block is not None and self.warps_share:
            yield from work.of_warps(self.most_of_a_block)
        yield Budget(
            "accesses to global memory beside the arguments",
            _own_traffic,
            0,
            "A __device__ variable is global memory, too: keep sums in registers, and what threads "
            "share in __shared__ memory. (A table that is only read is free.)",
            quiet=True,
            everywhere=True,
        )
        if not self.reads_outputs:
            yield Budget(
                "reads of an output",
                lambda case, one: sum(
                    one.total("requests", "global", access, name)
                    for name in case.outputs
                    for access in ("load", "atomic")
                ),
                0,
                "Sum up in a variable, and store it once: an output need not be read.",
                quiet=True,
                everywhere=True,
            )
        yield from amounts.budgets(self.name, cases)

    def _checked(self, cases: Sequence[Case]) -> str:
        """Return such as "4 sizes, 2 filters, 1,259 values"."""
        parts = []
        for kind, plural in self.counts.items():
            different = {case.kinds[kind] for case in cases if kind in case.kinds}
            parts.append(f"{len(different)} {plural if len(different) != 1 else kind}")
        exact = (
            ", all equal to the reference"
            if self._exact
            else ", within the rounding that is allowed"
        )
        values = quantity(sum(case.count for case in cases), "value")
        return ", ".join([*parts, values]) + exact

    @property
    def _exact(self) -> bool:
        return self.rtol == 0 and not callable(self.atol) and self.atol == 0

    # ---- comparing ----

    def is_right(self, case: Case, got: Mapping[str, np.ndarray]) -> bool:
        """Return whether the outputs of a case are what they should be."""
        return self._is_right(case, got, self.wanted(case))

    def wanted(self, case: Case) -> dict[str, np.ndarray]:
        """Return what should come out of a case, by output."""
        return _wanted(self.reference, case)

    def atol_of(self, case: Case) -> float:
        """Return the absolute tolerance of a case."""
        return self.atol(case) if callable(self.atol) else self.atol

    def _is_right(
        self, case: Case, got: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray]
    ) -> bool:
        return all(self._same(case, got[name], want[name]) for name in case.outputs)

    def _same(self, case: Case, got: np.ndarray, want: np.ndarray) -> bool:
        if got.shape != want.shape:
            return False
        got, want = real_pairs(got).astype(np.float64), real_pairs(want).astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(got - want) <= self.atol_of(case) + self.rtol * np.abs(want)
        return bool((near | (np.isnan(got) & np.isnan(want))).all())


@lru_cache(maxsize=2)  # the answers to one exercise are often judged one after another
def _drawn(
    cases: Callable[[np.random.Generator], Iterator[Case]],
    reference: Callable[[Case], Arrays],
    seed: int,
) -> tuple[tuple[Case, ...], tuple[dict[str, np.ndarray], ...]]:
    """Return the cases of a seed, and what should come out of each. Nobody may write to their
    arrays.
    """
    drawn = tuple(cases(np.random.default_rng(seed)))
    wants = tuple(_wanted(reference, case) for case in drawn)
    for arrays in (*(case.arrays for case in drawn), *wants):
        for array in arrays.values():
            array.flags.writeable = False
    return drawn, wants


def _wanted(reference: Callable[[Case], Arrays], case: Case) -> dict[str, np.ndarray]:
    made = reference(case)
    return dict(made) if isinstance(made, Mapping) else {case.outputs[0]: np.asarray(made)}


def _fits(case: Case, one: Outcome) -> bool:
    """Return whether an outcome has the outputs of a case."""
    of = [(one.arrays.get(name), case.arrays[name]) for name in case.outputs]
    return all(a is not None and (a.shape, a.dtype) == (b.shape, b.dtype) for a, b in of)


_ACCESSES = ("load", "store", "atomic")
# What the values show. Where wrong ones stand tells little: a reduction's last result is no edge.
_SHOWN = ("transposed", "reversed", "shifted", "precision", "planes")
SEARCH = (
    "The wrong values occur in no pattern known here: take one of them, work it out by "
    "hand, and follow the thread that writes it."
)


_NO_DOUBLES = (
    "Compute in float: a double takes two registers, and many GPUs have far fewer units for "
    "doubles. A constant without an f, such as 0.5, is a double: write 0.5f."
)
_TOO_MUCH = (
    "The smaller cases before it came to their end, so its loops end. Does each thread do the work "
    "of its whole block, or of the whole grid?"
)
_PLACES = 3  # wrong values in a verdict, which has few lines; a check shows more of them
_MORE = re.compile(r"  \.\.\. and ([\d,]+) more")


def _parts(text: str) -> tuple[str, str, list[str]]:
    """Return the first line of a CheckError, its diagnosis, and the wrong places."""
    first, *others = text.splitlines()
    places = [line for line in others if line.startswith("  ")]
    more = _MORE.fullmatch(places[-1]) if places else None
    shown = places[:-1] if more else places
    left = len(shown) - _PLACES + (int(more[1].replace(",", "")) if more else 0)
    if left > 0:
        places = [*shown[:_PLACES], f"  ... and {left:,} more"]
    return first, " ".join(line for line in others if not line.startswith("  ")), places


def _number(value: float) -> str:
    """Return a count or a share: two decimals, or three digits below 1, as of 1/8."""
    return f"{value:,.2f}".removesuffix(".00") if abs(value) >= 1 else f"{value:.3g}"


def _counted(amount: float, what: str) -> str:
    """Return an amount of what a budget counts: "2 loads per output", "1 load per output"."""
    text = _number(amount)
    noun = _PLURAL.sub(r"\1", what) if text == "1" else what
    return f"{text} {noun}"


# Up to the first noun in the plural: "bank conflicts" of "bank conflicts of shared loads".
_PLURAL = re.compile(r"^((?:(?!of |for |in |per )\S+ )*?\S*?)(?:(?<=ss)es|(?<=ch)es|s)\b")


def _is_or_are(count: float) -> str:
    return "is" if _number(count) == "1" else "are"


def _own_traffic(case: Case, one: Outcome) -> float:
    """Return the requests of a kernel's own variables in global memory; 0 where they are only read.
    """
    loads, *others = (
        one.total("requests", "global", access, outcomes_of.OWN) for access in _ACCESSES
    )
    return loads + sum(others) if any(others) else 0


def _with_printed(verdict: Verdict, outcomes: Sequence[Outcome]) -> Verdict:
    """Return the verdict with the first lines that the kernel printed, and with what printing
    costs.
    """
    count = sum(one.lines for one in outcomes)
    if not count:
        return verdict
    every = [line for one in outcomes for line in one.printed.splitlines()]
    most = outcomes_of.SHOWN_LINES
    head = f"printf wrote {quantity(count, 'line')}"
    head += f"; the first {most}:" if count > most else ":"
    verdict = replace(verdict, printed="\n".join([head, *every[:most]]))
    if verdict.status not in ("budget", "time"):
        return verdict
    # printf has an array of its own in local memory, so a hint on the student's would mislead.
    is_local = "accesses to local memory" in " ".join(verdict.message.split())
    kept = "" if is_local else verdict.hint
    return replace(verdict, hint="\n".join(filter(None, (_PRINTF, kept))))


_PRINTF = (
    "The kernel calls printf. That takes time, and local memory for each value that is printed: "
    "take it out and check again."
)


