"""What an answer is told: the verdict first, and what would mend it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from helpers import exercises, kernel_cells
from helpers.course import codec, wire
from helpers.exercises.judge import bar, outcome
from helpers.exercises.judge.mistakes import MOST_KEPT, Mistake
from tests.exercises import edited, words

# ---- wrong values ----


def test_the_shown_wrong_values_and_the_others_make_all_wrong_values():
    lines = str(EDGE.judge(edited(EDGE, ("P[i] = sum;", "P[i] = sum + 1;")))).splitlines()
    wrong = re.search(r"([\d,]+)(?: of [\d,]+)? values are wrong", words(" ".join(lines)))
    others = re.search(r"\.\.\. and ([\d,]+) more", "\n".join(lines))
    assert wrong and others, lines
    shown = sum(line.startswith("  [") for line in lines)
    whole, rest = (int(found[1].replace(",", "")) for found in (wrong, others))
    assert shown + rest == whole, lines


# ---- printf ----

EDGE = exercises.find("conv1d_edge")
STORE = "P[i] = sum;"


def test_a_kernel_that_prints_without_end_is_told_so_below_its_verdict(capsys):
    text = edited(EDGE, (STORE, f'for (int k = 0; k < 2000; ++k) printf("%d\\n", i); {STORE}'))
    found = dataclasses.replace(EDGE, limit_s=0.3).judge(text)
    assert capsys.readouterr().out == "", "the verdict has it all"
    assert found.status == "time" and "calls printf" in words(found)
    lines = str(found).splitlines()
    assert lines[0].startswith("FAIL conv1d_edge") and len(lines) < 20 + outcome.SHOWN_LINES
    head = next(k for k, line in enumerate(lines) if "printf wrote" in line)
    assert lines[head].endswith("lines; the first 50:") and len(lines) == head + 51


def test_a_forgotten_printf_of_a_right_kernel_is_shown_once_and_counted(capsys):
    text = edited(EDGE, (STORE, f'if (i == 0) printf("first %d\\n", n); {STORE}'))
    found = EDGE.judge(text)
    assert found.passed and capsys.readouterr().out == ""
    assert found.printed.splitlines()[0] == f"printf wrote {len(EDGE.all_cases(1))} lines:"


def test_a_printf_that_costs_the_points_is_named():
    """What printf prints lies in local memory, of which this exercise allows none."""
    one = exercises.find("conv1d_symmetric")
    at = one.solution.rindex("}")
    text = one.solution[:at] + '    printf("%d\\n", blockIdx.x);\n}\n'
    found = one.judge(text)
    assert found.status == "budget" and "calls printf" in words(found), found


def test_what_was_printed_travels_as_a_message():
    text = edited(EDGE, (STORE, f'if (i == 0) printf("first %d\\n", n); {STORE}'))
    outcomes = EDGE.run(text, 5)
    cases = EDGE.fitted(kernel_cells.parse(text), 5)
    message = codec.answer(cases, outcomes)
    notes, start = wire.content(message)
    there = EDGE.verdict(codec.outcomes(notes["outcomes"], cases, message, start), 5)
    assert there.printed and there.to_dict() == EDGE.judge(text, 5).to_dict()


@pytest.mark.parametrize("text", ["", "a" * 1_900, "%d"])
def test_odd_prints_do_no_harm(text):
    call = f'printf("{text}\\n", 1);'
    found = EDGE.judge(edited(EDGE, (STORE, f"if (i == 0) {call} {STORE}")))
    assert found.passed and max(map(len, str(found).splitlines())) <= 200


# ---- hints that misled ----


def test_unwritten_ends_are_called_so():
    found = EDGE.judge(edited(EDGE, ("if (i < n)", "if (i > 0 && i < n - 1)")))
    assert "never written, those at the ends" in words(found), found
    found = EDGE.judge(edited(EDGE, ("if (i < n)", "if (i < n / 256 * 256)")))
    assert "never written" in words(found) and "last, partial block" in words(found), found


INTERLEAVED = (
    ("int half = 128; half > 0; half /= 2", "int far = 1; far < 256; far *= 2"),
    ("if (t < half) s[t] = fmaxf(s[t], s[t + half])",
     "if (t % (2 * far) == 0) s[t] = fmaxf(s[t], s[t + far])"),
)  # fmt: skip


def test_interleaved_threads_are_not_called_one_thread_alone():
    one = exercises.find("block_max")
    found = one.judge(edited(one, *INTERLEAVED))
    assert found.status == "budget" and "keep all warps at work" in words(found), found


def test_a_factor_of_one_is_none():
    """Of maxima of which one is huge, all that matters to a quotient is right."""
    one = exercises.find("block_max")
    found = one.judge(edited(one, ("half /= 2", "half /= 4")))
    assert found.status == "wrong" and "1 times" not in words(found), found


@pytest.mark.parametrize("name", exercises.names())
def test_no_hint_is_the_answer(name):
    """A hint may name one line, never a row of them: the longest piece of the solution in it."""
    one = exercises.find(name)
    code = {line.strip() for line in one.solution.splitlines()} - {
        line.strip() for line in one.stub.splitlines()
    }
    for hint in one.hints:
        quoted = [line for line in code if len(line) > 30 and line.rstrip(";") in hint]
        assert len(quoted) <= 1, (hint, quoted)


def test_what_a_mistake_gives_is_computed_once_for_a_case():
    asked = []
    mistake = Mistake("", lambda case: asked.append(case.title) or case["N"] * 2)
    case = EDGE.all_cases(1)[0]
    assert mistake.given(case) is mistake.given(case) and len(asked) == 1
    other = dataclasses.replace(case, arrays={**case.arrays, "N": case["N"] + 1})
    assert (mistake.given(other) == mistake.given(case) + 2).all()
    assert Mistake("", lambda case: 3).given(case) == 3
    many = np.zeros(MOST_KEPT // 4 + 1, np.float32)
    large = dataclasses.replace(case, arrays={**case.arrays, "P": many})
    assert mistake.given(large) is not mistake.given(large)


# ---- what a notebook shows ----

BASIC = exercises.find("conv1d_basic")
SHOWN = (  # an edit, the first words, and what must stand below them
    ("P[i] = sum;", "P[i] = sum;", "PASS: 8 sizes, 2 filters", "loads of N per output"),
    ("cell < n", "cell <= n", "FAIL: ", "conv1d_basic.cu:16"),
    ("P[i] = sum;", "P[i] = 2 * sum;", "FAIL: ", ""),
)


@pytest.mark.parametrize(("before", "after", "first", "below"), SHOWN)
def test_a_notebook_shows_a_sentence_and_folds_the_rest(before, after, first, below):
    verdict = BASIC.judge(edited(BASIC, (before, after)) if before != after else BASIC.solution)
    frame = bar.Frame(BASIC.hints, True, "text")
    data, metadata = bar.bundle(verdict, frame)
    one = verdict.explanation
    assert data["text/plain"] == str(verdict)
    assert one.sentence.startswith(first) and len(one.evidence) <= 2
    assert below in " ".join(one.evidence)
    head, _, folded = data["text/html"].partition("<details>")
    assert "<strong>" in head and "<pre>" not in head
    assert words(str(verdict).splitlines()[0])[:40] in words(folded.replace("&lt;", "<"))
    hints = folded.count("<summary>Hint ")
    assert hints == (0 if verdict.passed else len(BASIC.hints))
    assert metadata["halo_labs"]["passed"] and metadata["halo_labs"]["status"] == verdict.status


def test_both_lines_of_a_race_are_shown_and_marked():
    one = exercises.find("deal_cells")
    verdict = one.judge(edited(one, ("__syncthreads();", "")))
    assert verdict.status == "finding" and len(verdict.lines) == 2
    for number in verdict.lines:
        assert f"deal_cells.cu:{number}: " in str(verdict)
        assert f"deal_cells.cu:{number}: " in verdict.explanation.evidence[1]


# ---- what a beginner types ----

TYPED = (  # an edit of conv1d_basic, the line that the error names, and what C wants
    ("N[cell] * filter[j]", "N[cell] ** 2", 16, "write x * x"),
    ("if (i < n) {", "if i < n:", 8, "brackets around a condition"),
    ("if (i < n)", "if (i = 0)", 8, "`==` compares"),
    ("if (i < n)", "if (True)", 8, "C writes `true`"),
    ("0.0f;", "None;", 9, "C has no None"),
    ("for (int j = 0; j < 3; ++j) {", "for j in range(3) {", 13, "C writes a loop as"),
    ("cell < n", "cell < len(N)", 15, "does not know its length"),
    ("float sum = 0.0f;", "float sum = 0.0f", 9, 'expected a ";"'),
    ("P[i] = sum;", "P[i] = sum  // the sum", 20, 'expected a ";"'),
    ("0.0f;", "0.0f; # a sum", 9, "begins with `//`"),
    ("int j = 0", "int j = zero", 13, "only after its declaration"),
    ("P[i] = sum;", "P[i] = sum // 2;", 20, "a division is one `/`"),
    ("i < n", "i < n // 2", 8, "a division is one `/`"),
    ("P[i] = sum;", "P[i] = sum if sum > 0 else 0;", 20, "`c ? a : b`"),
    ("cell < n", "cell < N.size", 15, "no attributes"),
    ("P[i] = sum;", "P.append(sum);", 20, "no attributes"),
    ("N[cell]", "N(cell)", 16, "An element has square ones"),
    ("P[i] = sum;", "return sum;", 20, "returns nothing"),
    ("if (i < n) {", "if (i < n):", 8, "C has no `:`"),
    ("int j = 0; j < 3; ++j", "int j in range(3)", 13, "C writes a loop as"),
    ("N[cell]", "N[cell:]", 16, "no slices"),
    ("N[cell] * filter[j]", "N[cell] ^ 2", 16, "bits"),
    ("N[cell]", "N[cell * 1.0f]", 16, "whole number"),
    ("float sum = 0.0f;", "float sum = 0.0f, a[2] = [0, 0];", 9, "values in braces"),
    ("blockIdx.x * blockDim.x + threadIdx.x", "blockIdx * blockDim + threadIdx", 5, "three parts"),
    ("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.X", 5, "three parts"),
    ("0.0f;", "0.0f, t[n];", 9, "the compiler knows"),
    ("P[i] = sum;", "N[i] = sum;", 20, "is `const`"),
    ("P[i] = sum;", "if (i > 0) N[i] = sum;", 20, "is `const`"),
    ("P[i] = sum;", "P[i] = max(sum, 0);", 20, "`max(x, 0.0f)`"),
    ("P[i] = sum;", "P = N;", 20, "neither fills nor copies"),
    ("float sum = 0.0f;", "sum = 0.0f;", 9, "only after its declaration"),
    ("threadIdx.x", "threadidx.x", 5, "Do you mean `threadIdx`?"),
    ("P[i] = sum;", "__syncthread(); P[i] = sum;", 20, "Do you mean `__syncthreads`?"),
    ("P[i] = sum;", "P[i] = summ;", 20, "Do you mean `sum`?"),
    ("float sum", "Float sum", 9, "Do you mean `float`?"),
    ("if (i < n) {", "if (i < n) then {", 8, "C has no `then`"),
    ("P[i] = sum;", "P[i] = sum; pass;", 20, "C has no `pass`"),
    ("P[i] = sum;", 'P[i] = sum; print(f"{sum}");', 20, "C writes `printf"),
    ("float sum = 0.0f;", "float sum = 0.0f; f = lambda x: x;", 9, "C writes a function"),
    ("cell >= 0", "cell => 0", 15, "C compares by"),
    ("i < n", "i <> n", 8, "C compares by"),
    ("i < n", "i is n", 8, "C compares by"),
    ("int j = 0; j < 3; ++j", "int j = 0, j < 3, ++j", 13, "C writes a loop as"),
    ("        P[i] = sum;\n    }", "        P[i] = sum;\n    }\n    }", 23, "one `}` too many"),
    ("        P[i] = sum;\n    }", "        P[i] = sum;", 3, "nothing closes this brace"),
    ("float sum = 0.0f;", "float sum = 0.0f; __shared__ t[9];", 9, "has a type"),
    ("float sum = 0.0f;", "float sum = 0.0f; '''a sum'''", 9, "begins with `//`"),
    ("P[i] = sum;", "printf('%f', sum);", 20, "double quotes"),
    ("N[cell]", "N[cell][0]", 16, "one index here"),
    ("float* P", "float P", 20, "has a `*`"),
    ("__global__ void", "__global__ float", 2, "A kernel returns nothing"),
)


@pytest.mark.parametrize(("before", "after", "line", "wants"), TYPED)
def test_a_compile_error_names_one_line_and_what_c_wants(before, after, line, wants):
    verdict = BASIC.judge(edited(BASIC, (before, after)))
    text = str(verdict)
    assert verdict.status == "compile" and wants in words(text)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count(": error: ") == 1 and f"conv1d_basic.cu({line}): error: " in text


def test_a_comment_behind_the_fault_is_not_advised_on():
    text = str(BASIC.judge(edited(BASIC, ("P[i] = sum;", "P[i] = sum sum;  // x if y else z"))))
    assert 'expected a ";"' in text and "comment" not in text and "?" not in text


WARNED = (  # an exercise, an edit, and what the compiler's warning comes to
    ("deal_cells", "__syncthreads();", "__syncthreads;", "write `__syncthreads();`"),
    ("conv1d_basic", "N[cell]", "N[1, j]", "C's comma drops"),
    ("conv1d_basic", "P[i] = sum;", "P[i] == sum;", "`==` compares"),
)


@pytest.mark.parametrize(("name", "before", "after", "wants"), WARNED)
def test_a_warning_on_a_failed_check_comes_first(name, before, after, wants):
    one = exercises.find(name)
    verdict = one.judge(edited(one, (before, after)))
    assert not verdict.passed and wants in words(verdict.explanation.sentence)
    assert "I do not know" not in words(" ".join(verdict.explanation.evidence))
    assert str(verdict).startswith(f"FAIL {name}: line ")
