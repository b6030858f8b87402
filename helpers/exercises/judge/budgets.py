"""Budgets: what an answer may use of each kind of traffic, counted by the simulator."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.outcome import Outcome

Amount = Callable[[Case, Outcome], float]


@dataclass(frozen=True)
class Budget:
    """At most so much of something, in each budgeted case.

    what: "loads of N per output"; of: how much one case took; most: a number, or a function of the
    case; hint: what to think of where it is exceeded; least: what a right answer cannot do without
    (0 where that is nothing); quiet: left out of verdicts; status: of an answer beyond it, "wrong"
    where it is no matter of traffic; if_less: what to think of below `least`, where `hint` does not
    say it; everywhere: it holds in the largest case, too, whatever its shape is.
    """

    what: str
    of: Amount
    most: float | Callable[[Case], float]
    hint: str = ""
    least: float = 0.0
    quiet: bool = False
    status: str = "budget"
    if_less: str = ""
    everywhere: bool = False

    def limit(self, case: Case) -> float:
        """Return the most for a case."""
        return self.most(case) if callable(self.most) else self.most


def per_output(space: str, access: str, array: str | None = None, counter: str = "lanes") -> Amount:
    """Return a counter of one kind of access, divided by the values of the outputs. By
    default it counts the threads that take part.
    """
    return lambda case, outcome: outcome.total(counter, space, access, array) / case.count


def per_block(space: str, access: str, counter: str = "requests") -> Amount:
    """Return a counter of one kind of access, divided by the blocks that ran. By default it
    counts requests of warps.
    """
    return lambda case, outcome: outcome.total(counter, space, access) / outcome.blocks


def per_request(space: str, access: str, counter: str = "sectors") -> Amount:
    """Return a counter divided by the requests of that access; 0 where there is none."""
    return lambda case, outcome: (
        outcome.total(counter, space, access) / max(outcome.total("requests", space, access), 1)
    )


def all_of(counter: str, space: str, access: str, array: str | None = None) -> Amount:
    """Return a counter of one kind of access."""
    return lambda case, outcome: outcome.total(counter, space, access, array)


def none_of(space: str, *accesses: str, what: str = "", hint: str = "") -> Budget:
    """Return the budget of no access of that kind at all."""
    accesses = accesses or ("load", "store", "atomic")
    words = what or f"accesses to {space} memory"
    return Budget(
        words,
        lambda case, o: sum(o.total("requests", space, a) for a in accesses),
        0,
        hint,
        quiet=True,
    )


def spread(name: str) -> Amount:
    """Return a field of Outcome.spread."""
    return lambda case, one: getattr(one.spread, name)


def loads_of_a_warp(most: float | Callable[[Case], float], hint: str) -> Budget:
    """Return the budget of so many requests by which one warp loads from global memory, in the
    block that loads most.
    """
    return Budget("load requests by one warp", spread("loads"), most, hint, quiet=True)


def numbers_of_a_thread(most: float | Callable[[Case], float], hint: str) -> Budget:
    """Return the budget of so many words that are read from shared memory one after another: by one
    thread, or by several that wait for each other at barriers.
    """
    return Budget(
        "numbers read from shared memory one after another",
        spread("numbers"),
        most,
        hint,
        quiet=True,
    )


def executed(*names: str, per: str | Callable[[Case], float] = "output") -> Amount:
    """Return how many warps execute operations (by their PTX names), per "output", "warp" or
    "launch", or per one of as many as a function says that a case has.
    """

    def amount(case: Case, outcome: Outcome) -> float:
        shares = {"output": case.count, "warp": warps(case), "launch": 1}
        return outcome.executed(*names) / (per(case) if callable(per) else shares[per])

    return amount


def warps(case: Case) -> int:
    """Return the warps of all launches of a case."""
    return sum(prod(step.grid) * -(-prod(step.block) // 32) for step in case.steps)


def shuffles(most: float = 0.0, per: str = "output", hint: str = "") -> Budget:
    """Return the budget of at most so many shuffles and other exchanges within warps."""
    return Budget(
        f"shuffles per {per}", executed("shfl", "redux", "match", per=per), most, hint, quiet=True
    )


def unused(what: str, hint: str, *names: str) -> Budget:
    """Return the budget of operations that no right answer executes, whatever comes out."""
    amount = executed(*names, per="launch")
    return Budget(what, amount, 0, hint, quiet=True, status="wrong", everywhere=True)


def _arithmetic(*types: str) -> Amount:
    """Return how many warps execute arithmetic on numbers of these types, as PTX names them."""
    known = re.compile(rf"(?:{_ARITHMETIC})\b.*\.(?:{'|'.join(types)})")
    return lambda case, one: sum(
        n
        for counts in one.counts
        for name, n in counts.instructions.items()
        if known.fullmatch(name)
    )


_ARITHMETIC = "add|sub|mul|fma|mad|div|rem|rcp|r?sqrt|sin|cos|lg2|ex2|tanh|neg|abs|min|max"
float_arithmetic = _arithmetic("f32", "f32x2", "f16", "f16x2", "bf16", "bf16x2", "f64")


def no_doubles(hint: str) -> Budget:
    """Return the budget of no arithmetic in double precision."""
    what = "operations on doubles, by warps"
    return Budget(what, _arithmetic("f64"), 0, hint, quiet=True, everywhere=True)


def elsewhere(integers: float) -> tuple[Budget, ...]:
    """Return the budgets of products by other units than the tensor cores: whatever makes them,
    they come out where matrix instructions multiply by 0; and integers beyond what indices need.
    """
    hint = "The tensor cores should make all products."
    return (
        Budget(
            "values that do not come from the tensor cores",
            lambda case, one: one.beside,
            0,
            hint,
            quiet=True,
        ),
        Budget(
            "products of integers, by warps",
            executed(
                *(f"{name}.{part}" for name in ("mul", "mad") for part in ("lo", "hi", "wide")),
                *("mul24", "mad24", "dp4a", "dp2a"),
                per="launch",
            ),
            integers,
            f"{hint} Indices need fewer products of integers than these.",
            quiet=True,
        ),
    )


def single_products(most: float, hint: str) -> Budget:
    """Return the budget of products by the FP32 units, in an answer by tensor cores."""
    return Budget(
        "multiply-adds outside of the tensor cores, by warps",
        executed("fma", "mul.f32", "mul.f16", "mad.f32", per="launch"),
        most,
        hint,
    )


NO_ACTIVEMASK = unused(
    "reads of __activemask()",
    "__activemask() names the lanes that happen to march together, and these may be fewer than you "
    "mean: name them yourself, 0xffffffff for a whole warp.",
    "activemask",
)

NO_ATOMICS = none_of(
    "global",
    "atomic",
    what="atomics",
    hint="Each output belongs to one thread, which stores it: no other thread disturbs it, so no "
    "atomic is needed.",
)

# What most answers need, and how few of them go another way.
ONE_STORE = Budget(
    "stores per output",
    per_output("global", "store"),
    1,
    "Store each output once: keep what is not ready yet in a register.",
    quiet=True,
)


def stores_of_a_thread(most: float | Callable[[Case], float]) -> Budget:
    """Return the budget of so many stores of a thread to the outputs.

    A thread that stores for its neighbour, too, needs further requests. They are seen in cases in
    which most warps have an output for each of their threads.
    """
    return Budget(
        "stores of a warp, on average",
        lambda case, one: (
            sum(one.total("requests", "global", "store", name) for name in case.outputs)
            / warps(case)
        ),
        most,
        "Each thread stores its own part: one that does the work of two leaves another one idle.",
        quiet=True,
    )


ONE_STORE_A_THREAD = stores_of_a_thread(1)
NO_DETOURS = (
    none_of(
        "local",
        what="accesses to local memory",
        hint="An array stays in registers only if the compiler knows every index: write #pragma "
        "unroll above each loop over it. Otherwise it lies in local memory, which is as far as "
        "global memory. (Where only the run knows an index, take single variables, and choose one "
        "of them by `? :`.)",
    ),
    NO_ATOMICS,
    shuffles(hint="Each thread has all that it needs: lanes need not hand each other registers."),
    NO_ACTIVEMASK,
)
