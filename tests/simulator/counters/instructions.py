"""PTX instructions of one lane on random and special operands: what to run, as data.

A text is an instruction ("add.sat.s32"), or a name and several of them ("carries.u32 = ..."), whose
operands are %0 for the result and %1, %2, %3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

# PTX type -> letter of `device_functions.TYPES`.
LETTERS = {
    "u8": "u", "s8": "i", "u16": "t", "s16": "s", "u32": "u", "s32": "i", "u64": "m", "s64": "l",
    "b16": "t", "b32": "u", "b64": "m", "f16": "h", "bf16": "b", "f16x2": "H", "bf16x2": "B",
    "u16x2": "u", "s16x2": "u", "f32": "f", "f64": "d", "e4m3x2": "t", "e5m2x2": "t", "tf32": "u",
}  # fmt: skip
_WHOLE = "u16 s16 u32 s32 u64 s64"
_ROUNDED = "rn rz rm rp"
_COMPARED, _UNSIGNED = "eq ne lt le gt ge", "lo ls hi hs"


def each(text: str, types: str, **choices: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, letters of the operands, letter of the result, and PTX for each of the choices'
    combinations, which fill the braces of a text and of its types ("operands -> result").
    """
    for values in itertools.product(*(some.split() for some in choices.values())):
        # "-" stands for nothing.
        chosen = {k: v.strip("-") for k, v in zip(choices, values, strict=True)}
        name, _, body = text.format(**chosen).replace("..", ".").partition(" = ")
        given, result = ([LETTERS[t] for t in part.split()] for part in
                         types.format(**chosen).split("->"))  # fmt: skip
        operands = ", ".join(f"%{k}" for k in range(len(given) + 1))
        yield name, "".join(given), result[0], body or f"{name} {operands}"


def integer() -> Iterator[tuple[str, str, str, str]]:
    pair, three = "{t} {t} -> {t}", "{t} {t} {t} -> {t}"
    yield from each("{o}.{t}", pair, o="add sub mul.lo mul.hi div rem min max", t=_WHOLE)
    yield from each("{o}.{t}", three, o="mad.lo mad.hi sad", t=_WHOLE)
    yield from each("{o}.{t}", "{t} -> {t}", o="neg abs", t="s16 s32 s64")
    for narrow, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        yield from each("mul.wide.{t}", "{t} {t} -> {w}", t=narrow, w=wide)
        yield from each("mad.wide.{t}", "{t} {t} {w} -> {w}", t=narrow, w=wide)
    yield from each("{o}.s32", "s32 s32 -> s32", o="add.sat sub.sat min.relu max.relu")
    yield from each("{o}.sat.s32", "s32 s32 s32 -> s32", o="mad.hi mad24.hi")
    yield from each("mul24.{h}.{t}", pair, h="lo hi", t="u32 s32")
    yield from each("mad24.{h}.{t}", three, h="lo hi", t="u32 s32")
    yield from each("{o}.{t}", pair, o="add min max", t="u16x2 s16x2")
    yield from each("{o}.relu.s16x2", "s16x2 s16x2 -> s16x2", o="min max")
    for name, body in (
        ("sum", "add.cc.{t} x, %1, %2; addc.{t} %0, %3, %1"),
        ("long_sum", "add.cc.{t} x, %1, %2; addc.cc.{t} x, %3, %1; addc.{t} %0, %2, %2"),
        ("difference", "sub.cc.{t} x, %1, %2; subc.{t} %0, %3, %1"),
        ("long_difference", "sub.cc.{t} x, %1, %2; subc.cc.{t} x, %3, %1; subc.{t} %0, %2, %2"),
        ("product", "mad.lo.cc.{t} x, %1, %2, %3; madc.hi.{t} %0, %1, %2, %3"),
        ("long_product", "mad.hi.cc.{t} x, %1, %2, %3; madc.lo.cc.{t} x, %1, %3, %2; "
                         "madc.hi.cc.{t} x, %1, %2, x; addc.{t} %0, x, x"),
        ("lower_product", "add.cc.{t} x, %1, %2; madc.lo.{t} %0, %1, %3, x"),
    ):  # fmt: skip
        yield from each(f"{name}.{{t}} = .reg .{{t}} x; {body}", three, t="u32 s32 u64 s64")
    yield from each("{o}.{t}", pair, o="and or xor", t="b16 b32 b64")
    yield from each("{o}.{t}", "{t} -> {t}", o="not cnot", t="b16 b32 b64")
    yield from each("{o}.{t}", "{t} u32 -> {t}", o="shr", t=_WHOLE)
    yield from each("{o}.{t}", "{t} u32 -> {t}", o="shl shr", t="b16 b32 b64")
    few = ".reg .u32 x; and.b32 x, {n}, 127; "  # most amounts are of interest near the width
    yield from each(f"few_{{o}}.{{t}} = {few}{{o}}.{{t}} %0, %1, x", "{t} u32 -> {t}",
                    o="shl shr", t="b16 b32 b64", n="%2")  # fmt: skip
    yield from each("{o}.{t}", "{t} -> u32", o="popc clz", t="b32 b64")
    yield from each("brev.{t}", "{t} -> {t}", t="b32 b64")
    yield from each("bfind.{s}.{t}", "{t} -> u32", s="- shiftamt", t="u32 s32 u64 s64")
    yield from each("bfe.{t}", "{t} u32 u32 -> {t}", t="u32 s32 u64 s64")
    bits = ".reg .u32 x; shr.u32 x, %3, 8; "  # two numbers in one operand
    yield from each(f"bfi.{{t}} = {bits}bfi.{{t}} %0, %1, %2, %3, x", "{t} {t} u32 -> {t}",
                    t="b32 b64")  # fmt: skip
    near = ".reg .u32 x, y; and.b32 x, %2, 63; and.b32 y, {last}, 63; "
    yield from each(f"field.{{t}} = {near}bfe.{{t}} %0, %1, x, y", "{t} u32 u32 -> {t}",
                    t="u32 s32 u64 s64", last="%3")  # fmt: skip
    yield from each("shf.{w}.b32", "b32 b32 u32 -> b32", w="l.wrap l.clamp r.wrap r.clamp")
    yield from each(f"few_shf.{{w}} = {few}shf.{{w}}.b32 %0, %1, %2, x", "b32 b32 u32 -> b32",
                    w="l.wrap l.clamp r.wrap r.clamp", n="%3")  # fmt: skip
    yield from each("bmsk.{m}.b32", "u32 u32 -> b32", m="wrap clamp")
    yield from each(f"mask.{{m}} = {near}bmsk.{{m}}.b32 %0, x, y", "u32 u32 -> b32",
                    m="wrap clamp", last="%1")  # fmt: skip
    yield from each("szext.{m}.{t}", "{t} u32 -> {t}", m="wrap clamp", t="u32 s32")
    yield from each(f"few_szext.{{m}}.{{t}} = {few}szext.{{m}}.{{t}} %0, %1, x", "{t} u32 -> {t}",
                    m="wrap clamp", t="u32 s32", n="%2")  # fmt: skip
    tables = "0x00 0x96 0xC0 0xCA 0xE8 0xF8 0x01 0xFE 0xFF 0x5B"
    yield from each("lop3.{n} = lop3.b32 %0, %1, %2, %3, {n}", "b32 b32 b32 -> b32", n=tables)
    yield from each("lop3.{o} = .reg .pred p, q; .reg .b32 x; setp.lt.s32 q, %1, %3; "
                    "lop3.{o}.b32 x|p, %1, %2, %3, 0x96, q; selp.u32 %0, 1, x, p",
                    "b32 b32 b32 -> b32", o="and or")  # fmt: skip
    yield from each("prmt.b32{m}", "b32 b32 u32 -> b32", m="- .f4e .b4e .rc8 .ecl .ecr .rc16")
    yield from each("dp4a.{a}.{b}", "b32 b32 b32 -> b32", a="u32 s32", b="u32 s32")
    yield from each("dp2a.{h}.{a}.{b}", "b32 b32 b32 -> b32", h="lo hi", a="u32 s32", b="u32 s32")
    yield from each("slct.{t}.{c}", "{t} {t} {c} -> {t}", t="b64 u32 f32", c="s32 f32")
    yield from each("cvt.pack.sat.{t}.s32", "s32 s32 -> b32", t="u16 s16")
    yield from each("cvt.pack.sat.{t}.s32.b32", "s32 s32 b32 -> b32", t="u8 s8 u4 s4 u2 s2")
    flags = ".reg .pred p, q; setp.lt.s32 p, %3, 0; setp.lt.s32 q, %1, %2; "
    yield from each(f"{{o}}.pred = {flags}{{o}}.pred p, p, q; selp.b32 %0, %1, %2, p",
                    "s32 s32 s32 -> b32", o="and or xor")  # fmt: skip
    yield from each(f"not.pred = {flags}not.pred p, q; selp.b32 %0, %1, %3, p",
                    "s32 s32 s32 -> b32")  # fmt: skip
    chosen = ".reg .pred p; setp.lt.s32 p, %3, 0; selp.{t} %0, %1, %2, p"
    yield from each(f"selp.{{t}} = {chosen}", "{t} {t} s32 -> {t}", t="b16 b32 b64 f32 f64")
    yield from each("upper = .reg .b16 x; mov.b32 {{_, x}}, %1; mov.b16 %0, x", "b32 -> b16")
    for whole, part, count in (
        ("b32", "b8", 4), ("b32", "b16", 2), ("b64", "b32", 2), ("b64", "b16", 4),
    ):  # fmt: skip
        names = [f"x{k}" for k in range(count)]
        body = f".reg .{part} x<{count}>; mov.{whole} {{{{{', '.join(names)}}}}}, %1; "
        body += f"mov.{whole} %0, {{{{{', '.join(reversed(names))}}}}}"
        yield from each(f"turned.{{t}}.{{p}} = {body}", "{t} -> {t}", t=whole, p=part)


def comparisons() -> Iterator[tuple[str, str, str, str]]:
    flag = ".reg .pred p, q; "
    one, both = "selp.u32 %0, 1, 0, p", ".reg .u32 x; selp.u32 x, 1, 0, p; selp.u32 %0, 3, x, q"
    for compared, types in (
        (_COMPARED, _WHOLE), (_UNSIGNED, "u16 u32 u64"),
        (f"{_COMPARED} equ neu ltu leu gtu geu num nan", "f32 f64 f16 bf16"),
    ):  # fmt: skip
        yield from each(f"setp.{{c}}.{{t}} = {flag}setp.{{c}}.{{t}} p, %1, %2; {one}",
                        "{t} {t} -> u32", c=compared, t=types)  # fmt: skip
    two = f"{flag}setp.lt.s32 q, %3, 0; setp.{{c}}.{{j}}.{{t}} p|q, %1, %2, q; {both}"
    for compared, types in ((_COMPARED, f"{_WHOLE} f32 f64"), (_UNSIGNED, "u16 u32 u64")):
        yield from each(f"setp.{{c}}.{{j}}.{{t}} = {two}", "{t} {t} s32 -> u32", c=compared,
                        j="and or xor", t=types)  # fmt: skip
        yield from each("set.{c}.{d}.{t}", "{t} {t} -> {d}", c=compared, d="u32 f32",
                        t=types)  # fmt: skip
    yield from each(f"setp.{{c}}.ftz.f32 = {flag}setp.{{c}}.ftz.f32 p, %1, %2; {one}",
                    "f32 f32 -> u32", c="eq lt geu")  # fmt: skip
    yield from each(f"setp.{{c}}.{{t}} = {flag}setp.{{c}}.{{t}} p|q, %1, %2; {both}",
                    "{t} {t} -> u32", c=f"{_COMPARED} ltu geu", t="f16x2 bf16x2")  # fmt: skip
    for half in ("f16", "bf16"):
        yield from each("set.{c}.{d}.{t}", "{t} {t} -> {d}", c=f"{_COMPARED} equ ltu",
                        d=f"{half}x2 u32", t=f"{half}x2")  # fmt: skip
    classes = "finite infinite number notanumber normal subnormal"
    yield from each(f"testp.{{c}}.{{t}} = {flag}testp.{{c}}.{{t}} p, %1; {one}", "{t} -> u32",
                    c=classes, t="f32 f64")  # fmt: skip


def floating() -> Iterator[tuple[str, str, str, str]]:
    """Without sums, products, minima and maxima of f64: of two NaNs one goes on, and ptxas has them
    in another order here than in the group double, which holds them.
    """
    pair, three = "{t} {t} -> {t}", "{t} {t} {t} -> {t}"
    for types, rounded, more in (
        ("f32", _ROUNDED, "- .ftz .sat .ftz.sat"),
        ("f16 f16x2", "rn", "- .ftz .sat"), ("bf16 bf16x2", "rn", "-"),
    ):  # fmt: skip
        yield from each("{o}.{r}{m}.{t}", pair, o="add sub mul", r=rounded, m=more, t=types)
        yield from each("fma.{r}{m}.{t}", three, r=rounded, m=more, t=types)
    halves = "f16 f16x2 bf16 bf16x2"
    yield from each("fma.rn.relu.{t}", three, t=halves)
    for types, more in (("f32", "- .ftz"), ("f64", "-")):
        yield from each("div.{r}{m}.{t}", pair, r=_ROUNDED, m=more, t=types)
        yield from each("{o}.{r}{m}.{t}", "{t} -> {t}", o="rcp sqrt", r=_ROUNDED, m=more, t=types)
    yield from each("div.{o}{m}.f32", "f32 f32 -> f32", o="approx full", m="- .ftz")
    yield from each("{o}{m}.f32", "f32 f32 -> f32", o="min max",
                    m="- .ftz .NaN .xorsign.abs .NaN.xorsign.abs")  # fmt: skip
    yield from each("{o}{m}.{t}", pair, o="min max", m="- .NaN .xorsign.abs .NaN.xorsign.abs",
                    t=halves)  # fmt: skip
    yield from each("{o}.{t}", "{t} -> {t}", o="neg abs", t=f"f32 f64 {halves}")
    yield from each("{o}.ftz.f32", "f32 -> f32", o="neg abs")
    yield from each("copysign.{t}", pair, t="f32 f64")


def conversions() -> Iterator[tuple[str, str, str, str]]:
    whole = f"u8 s8 {_WHOLE}"
    yield from each("cvt.{d}.{t}", "{t} -> {d}", d=whole, t=whole)
    for of, to in itertools.product(whole.split(), repeat=2):
        wider = int(to[1:]) - int(of[1:])
        if not ((wider >= 0 and to[0] == of[0]) or (wider > 0 and to[0] == "s")):
            yield from each("cvt.sat.{d}.{t}", "{t} -> {d}", d=to, t=of)
    to_whole = "rni rzi rmi rpi"
    for integers, floats in ((whole, "f16 f32 f64"), (_WHOLE, "bf16")):
        yield from each("cvt.{r}.{d}.{t}", "{t} -> {d}", r=to_whole, d=integers, t=floats)
        yield from each("cvt.{r}.{d}.{t}", "{t} -> {d}", r=_ROUNDED, d=floats, t=integers)
    yield from each("cvt.{r}.{t}.{t}", "{t} -> {t}", r=to_whole, t="f16 f32 f64")
    for types, to in (("f16", "f32 f64"), ("bf16", "f32 f64"), ("f32", "f64")):
        yield from each("cvt.{d}.{t}", "{t} -> {d}", t=types, d=to)
        yield from each("cvt.{r}.{d}.{t}", "{t} -> {d}", r=_ROUNDED, t=to, d=types)
    yield from each("cvt.{r}.{d}.{t}", "{t} -> {d}", r=_ROUNDED, t="f16", d="bf16")
    yield from each("cvt.{r}.{d}.{t}", "{t} -> {d}", r=_ROUNDED, t="bf16", d="f16")
    yield from each("cvt.rn{m}.f16.f32", "f32 -> f16", m=".ftz .sat .relu")
    yield from each("cvt.{r}{m}.{d}.f32", "f32 f32 -> {d}", r="rn rz", m="- .relu",
                    d="f16x2 bf16x2")  # fmt: skip
    yield from each("cvt.rn.satfinite.{d}.f32", "f32 f32 -> {d}", d="f16x2 bf16x2")
    small = "e4m3x2 e5m2x2"
    yield from each("cvt.rn.satfinite{m}.{d}.f32", "f32 f32 -> {d}", m="- .relu", d=small)
    yield from each("cvt.rn.satfinite{m}.{d}.f16x2", "f16x2 -> {d}", m="- .relu", d=small)
    yield from each("cvt.rn{m}.f16x2.{t}", "{t} -> f16x2", m="- .relu", t=small)
    yield from each("cvt.{r}.tf32.f32", "f32 -> tf32", r="rna rn rz rn.relu")


def video() -> Iterator[tuple[str, str, str, str]]:
    """Of the parts of a register."""
    three = "b32 b32 b32 -> b32"
    actions = "vadd vsub vabsdiff vmin vmax"
    parts = {"n": "2 4", "d": "u32 s32", "t": "u32 s32"}
    yield from each("{o}{n}.{d}.{t}.{t}{m}", three, o=f"{actions} vavrg", **parts,
                    m="- .sat .add")  # fmt: skip
    yield from each("vset{n}.{t}.{t}.{c}{m}", three, n="2 4", t="u32 s32", c=_COMPARED,
                    m="- .add")  # fmt: skip


GROUPS = {"instructions_of_integers": integer, "instructions_that_compare": comparisons,
          "instructions_of_floats": floating, "instructions_that_convert": conversions,
          "instructions_of_video": video}  # fmt: skip
