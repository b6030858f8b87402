"""Lowers the statements of a function to rows of machine instructions, which still have virtual
registers in place of slots.
"""

from __future__ import annotations

from .contraction import contracted
from .opcodes import (
    CONST_SPACE,
    FRAME_LOCAL,
    GLOBAL_SPACE,
    LOCAL_SPACE,
    PARAMETER,
    Opcode,
    describe,
)
from .rows import BUILTINS, BY_ADDRESS, LEFT_OUT, NONE, Branch, Code, Context, Row, Unsupported
from .syntax import (
    Address,
    Group,
    Label,
    Literal,
    Nothing,
    Operand,
    Pair,
    Statement,
    Symbol,
    Variable,
)
from .values import Values, slot_width
from .yields import yielding_loops

__all__ = ["Code", "Context", "Lowering"]


class Lowering(Values):
    """Lowers one function."""

    def run(self) -> Code:
        """Return the function's rows. Raises Unsupported."""
        rows, widths, plain = self.rows, self.widths, self.context.plain
        first_rows = self.code.first_rows
        changed = contracted(self.body) if self.context.contract else {}
        yielding = yielding_loops(self.body)
        for number, statement in enumerate(self.body.statements):
            first_rows.append(len(rows))
            if number in yielding or statement.opcode.startswith("nanosleep"):
                self.guard, self.predicate, self.place = 0, NONE, statement.place
                self.emit(self.template(describe("yield"), 0, 0, True), [])
            if number in changed:
                if (fused := changed[number]) is None:
                    continue
                statement = fused
            self.predicate = statement.guard
            self.guard = 0 if statement.guard < 0 else 2 if statement.negated else 1
            self.place = statement.place
            found = plain.get(statement.opcode)
            if found is not None:
                template, needed = found
                operands = []
                for operand, width in zip(statement.operands, needed):  # noqa: B905
                    if operand.__class__ is not int or widths[operand] != width:
                        break
                    operands.append(operand)
                else:
                    rows.append(
                        Row(template, operands, self.guard, self.predicate, 0, 0, self.place)
                    )
                    continue
            if self.context.leaves_out:
                self.lower_or_leave_out(statement)
            else:
                self.lower(statement)
        first_rows.append(len(rows))
        self.guard, self.predicate = 0, NONE
        last = self.code.branches[-1] if self.code.branches else None
        if last is None or last.row != len(rows) - 1 or last.falls or self.names_the_end():
            self.leave("ret")
        if self.function.kernel:
            self.leave_early()
        return self.code

    def names_the_end(self) -> bool:
        return any(
            one.statement == len(self.body.statements)
            for branch in self.code.branches
            for one in branch.labels
        )

    def lower_or_leave_out(self, statement: Statement) -> None:
        rows, branches = len(self.rows), len(self.code.branches)
        relocations = len(self.code.relocations)
        try:
            self.lower(statement)
        except Unsupported:
            del self.rows[rows:], self.code.branches[branches:], self.code.relocations[relocations:]
            self.after.clear()
            self.leave("trap", LEFT_OUT)

    def lower(self, statement: Statement) -> None:
        opcode = describe(statement.opcode)
        getattr(self, opcode.row.lowering)(statement, opcode)
        while self.after:
            self.convert(*self.after.pop())

    # ---- instructions

    def plain(self, statement: Statement, opcode: Opcode) -> None:
        """Lower an instruction without rules of its own: its results, then its sources."""
        operands = statement.operands[:-1] if opcode.policy else statement.operands
        # "x": an operation that the machine does not have is refused below.
        types = opcode.types(opcode.row.types or self.context.operands.get(opcode.name) or "x")
        results: list[int] = []
        if opcode.result and operands and not isinstance(operands[0], Address):
            first = operands[0]
            if isinstance(first, Pair):
                results = [self.result(first.first, types[0]), self.result(first.second, "pred")]
            elif isinstance(first, list):
                results = [self.result(one, types[0]) for one in first]
            else:
                results = [self.result(first, types[0])]
            operands, skip = operands[1:], 1
        else:
            skip = 0
        apart = len(results) > 1 or opcode.row.across or not types[0]
        template = self.template(opcode, 0, len(results), apart)
        if len(results) == 1 and all(types) and statement.opcode not in self.context.plain:
            widths = tuple(slot_width(types[min(index, len(types) - 1)]) for index in range(8))
            self.context.plain[statement.opcode] = template, widths
        self.emit(template, results + self.sources(operands, types, skip))

    def with_gaps(self, statement: Statement, opcode: Opcode) -> None:
        """Lower shfl, vote, match.all and elect. A missing operand becomes NONE."""
        operands, types = statement.operands, opcode.types(opcode.row.types)
        first = operands[0]
        results = [first.first, first.second] if isinstance(first, Pair) else [first]
        if opcode.name.startswith(("shfl", "match.all")) and len(results) == 1:
            results.append(Nothing())
        of_results = types[0], "pred"
        found = [
            self.result(one, type) for one, type in zip(results, of_results, strict=False)
        ]
        read = self.sources(operands[1:], types, 1)
        if opcode.root in ("shfl", "vote"):
            read += [NONE] * ((4 if opcode.root == "shfl" else 2) - len(read))
        self.emit(self.template(opcode, 0, len(found), True), found + read)

    def load(self, statement: Statement, opcode: Opcode) -> None:
        first, type = statement.operands[0], opcode.last_type
        parts = first if isinstance(first, list) else [first]
        self.memory(
            opcode, statement.operands[1], [self.result(one, type) for one in parts], len(parts)
        )

    def store(self, statement: Statement, opcode: Opcode) -> None:
        second, type = statement.operands[1], opcode.last_type
        parts = second if isinstance(second, list) else [second]
        self.memory(opcode, statement.operands[0], [self.source(one, type) for one in parts], 0)

    def atomic(self, statement: Statement, opcode: Opcode) -> None:
        operands, type = list(statement.operands), opcode.last_type
        if opcode.policy:
            operands.pop()
        if opcode.root == "red":
            results = [NONE] * opcode.elements
        else:
            first = operands.pop(0)
            results = [
                self.result(one, type) for one in (first if isinstance(first, list) else [first])
            ]
        read = self.sources(operands[1:], (type,), 0)
        self.memory(opcode, operands[0], results + read, len(results))

    def move(self, statement: Statement, opcode: Opcode) -> None:
        result, source = statement.operands
        type = opcode.last_type
        bits = 8 * opcode.width
        if isinstance(source, list):
            name, part = f"pack.b{bits}.b{bits // len(source)}", f"b{bits // len(source)}"
            read = [self.source(one, part) for one in source]
            self.emit(
                self.template(opcode, 0, 1, True, name=name), [self.result(result, type), *read]
            )
        elif isinstance(result, list):
            name, part = f"unpack.b{bits}.b{bits // len(result)}", f"b{bits // len(result)}"
            read = [self.source(source, type)]
            results = [self.result(one, part) for one in result]
            self.emit(self.template(opcode, 0, len(results), True, name=name), results + read)
        else:
            self.plain(statement, opcode)

    def to_space(self, statement: Statement, opcode: Opcode) -> None:
        """Lower cvta. Addresses of .global and .const memory are generic addresses already."""
        result, source = statement.operands
        type = opcode.last_type
        operands = [self.result(result, type), self.source(source, type)]
        if opcode.space in (GLOBAL_SPACE, CONST_SPACE):
            self.emit(self.template(describe(f"mov.{type}"), 0, 1, False), operands)
        else:
            self.emit(
                self.template(opcode, 0, 1, False, name=opcode.name.rpartition(".")[0]), operands
            )

    def is_space(self, statement: Statement, opcode: Opcode) -> None:
        result, source = statement.operands
        self.emit(
            self.template(opcode, 0, 1, False),
            [self.result(result, "pred"), self.source(source, "u64")],
        )

    def barrier(self, statement: Statement, opcode: Opcode) -> None:
        """Lower bar and barrier: [result,] number, count of threads or NONE [, predicate]."""
        operands = list(statement.operands)
        if opcode.name.startswith(("bar.warp", "barrier")):
            self.emit(self.template(opcode, 0, 0, True), self.sources(operands, ("u32",), 0))
            return
        results, tail = [], []
        if opcode.name.startswith("bar.red"):
            results = [
                self.result(operands.pop(0), "u32" if opcode.name.endswith("popc") else "pred")
            ]
            tail = [self.source(operands.pop(), "pred")]
        read = self.sources(operands, ("u32",), 0)
        self.emit(self.template(opcode, 0, len(results), True), results + [*read, NONE][:2] + tail)

    def asynchronous(self, statement: Statement, opcode: Opcode) -> None:
        """Lower cp.async: the number of groups is an immediate; source bytes may be left out by a
        predicate.
        """
        operands = list(statement.operands)
        if opcode.policy:
            operands.pop()
        name = opcode.name
        if ".wait_group" in name:
            number = operands[0]
            if not isinstance(number, Literal):
                raise self.unsupported(statement.opcode)
            self.emit(self.template(opcode, 0, 0, True), [], number.bits)
            return
        last = operands[-1] if operands else None
        if (
            name.startswith(("cp.async.shared", "cp.async.global"))
            and isinstance(last, int)
            and self.widths[last] == 0
        ):
            zero, size = self.context.statics.constant(4, 0), self.source(operands[2], "u32")
            operands[3:] = [self.simple("selp.b32", [self.temporary(4), zero, size, last])]
        types = opcode.types(opcode.row.types)
        self.emit(self.template(opcode, 0, 0, True), self.sources(operands, types, 0))

    def bare(self, statement: Statement, opcode: Opcode) -> None:
        self.emit(self.template(opcode, 0, 0, True), [])

    def policy(self, statement: Statement, opcode: Opcode) -> None:
        """Lower createpolicy to nothing, because the simulator does not model caches."""
        written = self.result(statement.operands[0], "b64")
        self.emit(
            self.template(describe("mov.b64"), 0, 1, False),
            [written, self.context.statics.constant(8, 0)],
        )

    def check_row(self, statement: Statement, opcode: Opcode) -> None:
        """Lower row.check: an index, and as a constant its axis and extent (see axes.py)."""
        index, what = statement.operands
        assert isinstance(what, Literal)
        operands = [self.source(index, opcode.last_type)]
        self.emit(self.template(opcode, 0, 0, True), operands, what.bits)

    # ---- control flow

    def branch(self, statement: Statement, opcode: Opcode) -> None:
        label = statement.operands[0]
        assert isinstance(label, Label)
        row = self.emit(self.template(opcode, 0, 0, True), [])
        self.code.branches.append(Branch(row, [label], self.guard != 0))

    def branch_by_index(self, statement: Statement, opcode: Opcode) -> None:
        index, table = statement.operands
        assert isinstance(table, Symbol)
        if table.name not in self.body.targets:
            raise self.unsupported(f"brx.idx without its table {table.name}")
        labels = self.body.targets[table.name]
        row = self.emit(self.template(opcode, 0, 0, True), [self.source(index, "u32")], len(labels))
        self.code.branches.append(Branch(row, labels, self.guard != 0))

    def end(self, statement: Statement, opcode: Opcode) -> None:
        self.leave(opcode.root)

    def leave(self, name: str, immediate: int = 0) -> None:
        name = "exit" if name == "ret" and self.function.kernel else name
        row = self.emit(self.template(describe(name), 0, 0, True), [], immediate)
        self.code.branches.append(Branch(row, [], self.guard != 0, name == "trap"))

    def leave_early(self) -> None:
        """Turn a kernel's branch to its end into an exit under the same guard, as ptxas does."""
        ways = {one.row: one for one in self.code.branches}
        exit_template = self.template(describe("exit"), 0, 0, True)
        for one in self.code.branches:
            if len(one.labels) != 1 or self.rows[one.row].operands:
                continue
            row = self.code.first_rows[one.labels[0].statement]
            for _ in range(4):
                if (
                    row in ways
                    and not ways[row].falls
                    and len(ways[row].labels) == 1
                    and not self.rows[row].operands
                ):
                    row = self.code.first_rows[ways[row].labels[0].statement]
            end = self.rows[row]
            if end.template == exit_template and not end.guard:
                self.rows[one.row] = self.rows[one.row]._replace(template=exit_template)
                one.labels = []

    def call(self, statement: Statement, opcode: Opcode) -> None:
        operands = list(statement.operands)
        results = _group(operands)
        callee = operands.pop(0)
        arguments = _group(operands)
        if isinstance(callee, int):
            target, read = BY_ADDRESS, [callee]
            self.code.indirect = True
        elif isinstance(callee, Symbol):
            target, read = self.callee(callee.name), []
        else:
            raise self.unsupported(f"a call of {callee}")
        passed = [self.passed(one, True) for one in arguments]
        returned = [self.passed(one, False) for one in results]
        row = self.emit(self.template(opcode, 0, 0, True, name="call"), read)
        self.code.targets[row] = target
        numbers = [
            len(returned),
            *(n for one in returned for n in one),
            len(passed),
            *(n for one in passed for n in one),
        ]
        self.code.lists[row] = numbers
        for register, (at, width) in zip(results, returned, strict=True):
            if isinstance(register, int):
                template = self.template(describe(f"ld.b{8 * width}"), 1, 2, True, LOCAL_SPACE)
                self.emit(template, [NONE, register], at, FRAME_LOCAL | PARAMETER)

    def callee(self, name: str) -> int:
        module = self.context.module
        name = module.aliases.get(name, name)
        function = module.functions.get(name)
        if function is not None and function.text is not None:
            self.code.callees.add(name)
            return module.order[name]
        if name not in BUILTINS:
            raise self.unsupported(f"a call of {name}")
        return -1 - BUILTINS.index(name)

    def passed(self, operand: Operand, argument: bool) -> tuple[int, int]:
        """Return offset and bytes of a call's argument. A register or a constant is stored to
        memory of its own first.
        """
        if isinstance(operand, Variable) and operand.space == "param":
            return operand.offset, operand.size
        if isinstance(operand, int) and self.widths[operand]:
            width = self.widths[operand]
            at = self.code.local_bytes
            self.code.local_bytes += 16
            if argument:
                template = self.template(describe(f"st.b{8 * width}"), 1, 1, True, LOCAL_SPACE)
                self.emit(template, [NONE, operand], at, FRAME_LOCAL | PARAMETER)
            return at, width
        raise self.unsupported(f"a call with {operand}")


def _group(operands: list[Operand]) -> tuple[Operand, ...]:
    """Take a list in parentheses from the front, if there is one."""
    first = operands[0] if operands else None
    if not isinstance(first, Group):
        return ()
    del operands[0]
    return first.members
