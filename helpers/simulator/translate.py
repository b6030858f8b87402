"""From CUDA source to C++ that the host's compiler takes: names the kernels, places dynamic shared memory, refuses the rest.

Nothing else is rewritten: `halo_cuda.h` gives CUDA's words a meaning, and the compiler's own instrumentation reports the accesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .unrolling import mark_loops

# What would compile and mean something else, or not compile and say so badly.
_REFUSED = (
    (r"\basm\b|\b__asm__\b|\b__asm\b", "inline PTX (`asm`)"),
    (r"<<<|\bcudaLaunchKernel\w*\s*\(|\bcudaLaunchDevice\w*\s*\(", "a launch from the device (dynamic parallelism)"),
    (r"\btexture\s*<|\btex(?:1|2|3)D\w*\s*[<(]|\btexCubemap\w*\s*[<(]|\bcudaTextureObject_t\b", "textures"),
    (r"\bsurface\s*<|\bsurf(?:1|2|3)D\w*\s*[<(]|\bcudaSurfaceObject_t\b", "surfaces"),
    (r"\b__managed__\b|\bcudaMallocManaged\b", "managed memory (`__managed__`)"),
    (r"\bmemcpy_async\b|\b__pipeline_\w+|\bcuda::(?:pipeline|barrier)\b|#\s*include\s*<cuda[_/](?:pipeline|barrier)\w*(?:\.h)?>",
     "asynchronous copies (`memcpy_async`, pipelines, asynchronous barriers)"),
    (r"\b__cluster_dims__\b|\bcluster_group\b|\bthis_cluster\s*\(", "thread block clusters"),
    (r"\bthis_grid\s*\(|\bgrid_group\b|\bthis_multi_grid\s*\(", "a barrier of the whole grid (cooperative launch)"),
    (r"\bcuda::(?:std::)?atomic\w*|\bcuda::std::\w+|#\s*include\s*<(?:cuda/(?!pipeline|barrier)|cub/|thrust/)[^>]*>",
     "CUDA's C++ library (libcu++, CUB, Thrust)"),
    (r"\bcurand_\w+\s*\(|\bcurandState\w*|#\s*include\s*<curand[^>]*>", "cuRAND's device functions"),
    (r"(?:[;{}=(,]|\breturn)\s*(?:\([\w\s*]+\)\s*)?(?P<at>(?:malloc|free|realloc)\s*\()|\bnew\s+\w"
     r"|(?<!operator )\bdelete\s*(?:\[\s*\])?\s*\w",
     "memory allocated inside a kernel"),
)  # fmt: skip
_DYNAMIC_SHARED = re.compile(
    r"extern\s+(?:volatile\s+)?__shared__\s+(?:volatile\s+)?"
    r"(?:(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*)*"
    r"(?P<type>[\w:][\w:\s]*?(?:<[^;\[\]]*>)?)\s*(?<=[\s>])(?P<name>\w+)\s*\[\s*\]\s*;"
)
_TOKEN = re.compile(r'#[^\n]*(?:\\\n[^\n]*)*|extern\s*"C"|[A-Za-z_]\w*|::|"[^"\n]*"|\S')
_ATTRIBUTES = ("__launch_bounds__", "__attribute__", "__maxnreg__", "alignas")


class UnsupportedError(Exception):
    """The source uses what the simulator cannot run; the message names it and its line."""


@dataclass(frozen=True)
class Signature:
    """A kernel that can be launched: a `__global__` function, or an instance of a template that the source asks for.

    name: as the source would call it from outside, namespaces and template arguments included ("ns::scale<4>"); parameters: names
    and types in order; line: of its name (from 1); launch_bounds: the first argument of `__launch_bounds__`, as written.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    line: int
    namespaces: tuple[str, ...] = ()
    launch_bounds: str = ""
    deduced: bool = False  # an instance whose template arguments follow from its parameters


@dataclass(frozen=True)
class Translation:
    """C++ text with the line numbers of the .cu, its kernels, the templates that no instance was asked for, and the names of its
    dynamic shared arrays with their types."""

    text: str
    kernels: tuple[Signature, ...]
    templates: tuple[str, ...]
    dynamic_shared: tuple[tuple[str, str], ...]


def translate(
    source: str, file: str, extern_c: bool = False, macros: str = "", preprocess: Callable[[str], str] | None = None
) -> Translation:
    """Translates CUDA `source`; messages and debug information call it `file`.

    `extern_c` wraps the whole source in `extern "C"`, as PyCUDA's SourceModule does unless told otherwise; `macros` are
    preprocessor lines that come before it; `preprocess` runs the preprocessor over a text and keeps its line numbers: it is asked
    where conditions or macros decide which kernels there are. Raises UnsupportedError for what the simulator cannot run.
    """
    code = without_comments(source)
    seen = code
    if preprocess is not None and _depends_on_preprocessor(code):
        seen = without_comments(preprocess(source))
    _refuse(seen, file)
    kernels, templates = _kernels(seen)
    text, dynamic = _place_dynamic_shared(source, code)
    text = mark_loops(text, without_comments(text), macros)
    if extern_c:
        text = f'extern "C" {{\n#line 1 "{file}"\n{text}\n}}'
    names = [k.name for k in kernels]
    entries = "\n".join(_entry(number, k, names.count(k.name) > 1 or k.deduced) for number, k in enumerate(kernels))
    text = f'{macros}\n#line 1 "{file}"\n{text}\n#line 1 "halo_entries"\n{entries}\n'
    return Translation(text, kernels, templates, dynamic)


def without_comments(source: str) -> str:
    """The source with comments and the insides of strings blanked out, every character in its old place."""

    def blank(match: re.Match[str]) -> str:
        found = match.group(0)
        if found == '"C"':  # of extern "C"
            return found
        keep = 1 if found[0] in "\"'" else 0
        inner = found[keep : len(found) - keep]
        return found[:keep] + re.sub(r"[^\n]", " ", inner) + found[len(found) - keep :]

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', blank, source, flags=re.DOTALL)


def line_of(text: str, position: int) -> int:
    """The line number, from 1, of a character position."""
    return text.count("\n", 0, position) + 1


def _refuse(code: str, file: str) -> None:
    for pattern, what in _REFUSED:
        if found := re.search(pattern, code):
            line = line_of(code, found.start("at") if found.groupdict().get("at") else found.start())
            raise UnsupportedError(f"{file}:{line}: the simulator cannot run {what}; this kernel needs a GPU.")


def _depends_on_preprocessor(code: str) -> bool:
    """Whether a macro makes kernels, or a condition leaves out kernels or what would be refused."""
    if re.search(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*__global__", code, flags=re.MULTILINE):
        return True
    depth = 0
    for line in code.splitlines():
        if directive := re.match(r"\s*#\s*(if|ifdef|ifndef|endif)\b", line):
            depth += -1 if directive[1] == "endif" else 1
        elif depth > 0 and ("__global__" in line or any(re.search(pattern, line) for pattern, _ in _REFUSED)):
            return True
    return False


# ---- kernels ----


@dataclass
class _Scope:
    """What a brace opened: a namespace, an extern "C" block, or anything else."""

    namespace: str | None = None
    transparent: bool = False


@dataclass
class _Found:
    """A declaration with `__global__`, before templates and instances are put together."""

    name: str
    arguments: str | None
    parameters: tuple[tuple[str, str], ...]
    line: int
    namespaces: tuple[str, ...]
    is_template: bool
    is_instance: bool
    is_definition: bool
    launch_bounds: str = ""

    @property
    def qualified(self) -> str:
        return "::".join([*(n for n in self.namespaces if n), self.name])


def _kernels(code: str) -> tuple[tuple[Signature, ...], tuple[str, ...]]:
    """The kernels that can be launched, and the names of templates that no instance was asked for."""
    found = list(_declarations(code))
    definitions = [f for f in found if f.is_definition and not f.is_instance]
    plain = [f for f in definitions if not f.is_template]
    templates = [f for f in definitions if f.is_template]
    kernels = [Signature(f.qualified, f.parameters, f.line, f.namespaces, f.launch_bounds) for f in plain]
    for instance in (f for f in found if f.is_instance):
        template = next((t for t in templates if t.qualified.split("::")[-1] == instance.name.split("::")[-1]), None)
        origin = template or instance
        parameters = instance.parameters
        if template is not None and len(parameters) == len(template.parameters):
            parameters = tuple((name, type_text) for (name, _), (_, type_text) in zip(template.parameters, parameters, strict=True))
        arguments = "" if instance.arguments is None else f"<{_normal(instance.arguments)}>"
        deduced = instance.arguments is None
        kernels.append(Signature(instance.qualified + arguments, parameters, origin.line, instance.namespaces, "", deduced))
    asked = {k.name.partition("<")[0].split("::")[-1] for k in kernels}
    return tuple(dict.fromkeys(kernels)), tuple(t.qualified for t in templates if t.name not in asked)


def _normal(arguments: str) -> str:
    """Template arguments with spaces after commas only, and between words."""
    return re.sub(r"\s*,\s*", ", ", re.sub(r"(?<=\W)\s+|\s+(?=\W)", "", " ".join(arguments.split())))


def _declarations(code: str) -> Iterator[_Found]:
    scopes: list[_Scope] = []
    statement: list[re.Match[str]] = []  # tokens since the last one that ended a declaration
    tokens = [t for t in _TOKEN.finditer(code) if not t[0].startswith("#")]
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token[0] == "__global__" and all(s.namespace is not None or s.transparent for s in scopes):
            declaration, position = _declaration(code, tokens, position, [t[0] for t in statement], scopes)
            if declaration is not None:
                yield declaration
            statement = []
            continue
        if token[0] == "{":
            scopes += _opened([t[0] for t in statement])
            statement = []
        elif token[0] == "}":
            if scopes:
                scopes.pop()
            statement = []
        elif token[0] == ";":
            statement = []
        else:
            statement.append(token)
        position += 1


def _opened(statement: list[str]) -> list[_Scope]:
    words = statement[1:] if statement[:1] == ["inline"] else statement
    if words[:1] == ["namespace"]:
        names = [w for w in words[1:] if re.fullmatch(r"[A-Za-z_]\w*", w) and w != "inline"]
        return [_Scope("::".join(names))]
    return [_Scope(transparent=bool(statement) and statement[-1].startswith("extern"))]


def _declaration(code: str, tokens: list, position: int, before: list[str], scopes: list[_Scope]) -> tuple[_Found | None, int]:
    """The declaration around tokens[position] == `__global__`, and the position after its parameter list."""
    bounds, name, arguments, start = "", "", None, position + 1
    k = position + 1
    while k < len(tokens):
        word = tokens[k][0]
        following = tokens[k + 1][0] if k + 1 < len(tokens) else ""
        if word in _ATTRIBUTES and following == "(":
            end = _closing(tokens, k + 1, "(", ")")
            if word == "__launch_bounds__":
                bounds = _split(code[tokens[k + 1].end() : tokens[end].start()])[0].strip()
            k = end + 1
        elif re.fullmatch(r"[A-Za-z_]\w*", word) and following in ("(", "<"):
            name = _qualified_name(tokens, start, k)
            start = k
            if following == "<":
                end = _closing(tokens, k + 1, "<", ">")
                arguments = code[tokens[k + 1].end() : tokens[end].start()]
                k = end
            k += 1
            break
        elif word in (";", "{", "}", ")"):
            return None, k
        else:
            k += 1
    if not name or k >= len(tokens) or tokens[k][0] != "(":
        return None, k
    end = _closing(tokens, k, "(", ")")
    parameters = tuple(_parameters(code[tokens[k].end() : tokens[end].start()]))
    following = tokens[end + 1][0] if end + 1 < len(tokens) else ""
    header = [*before, *(t[0] for t in tokens[position + 1 : start])]
    if "void" not in header:
        return None, end + 1
    is_template = "template" in before
    empty = is_template and _after(before, "template") == "<" and _after(before, "<") == ">"
    explicit = is_template and _after(before, "template") != "<"
    namespaces = tuple(s.namespace for s in scopes if s.namespace is not None)
    found = _Found(
        name, arguments, parameters, line_of(code, tokens[start].start()), namespaces, is_template and not empty and not explicit,
        explicit or (empty and following == "{"), following == "{", bounds,
    )  # fmt: skip
    return found, end + 1


def _after(words: list[str], word: str) -> str:
    k = words.index(word) + 1
    return words[k] if k < len(words) else ""


def _qualified_name(tokens: list, first: int, last: int) -> str:
    parts = [tokens[last][0]]
    while last - 2 >= first and tokens[last - 1][0] == "::":
        last -= 2
        parts.insert(0, tokens[last][0])
    return "::".join(parts)


def _closing(tokens: list, position: int, opening: str, closing: str) -> int:
    depth = 0
    for k in range(position, len(tokens)):
        depth += {opening: 1, closing: -1}.get(tokens[k][0], 0)
        if depth == 0:
            return k
    return len(tokens) - 1


def _split(text: str) -> list[str]:
    """Splits at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _parameters(text: str) -> Iterator[tuple[str, str]]:
    for number, part in enumerate(p.strip() for p in _split(text)):
        part = part.partition("=")[0].strip()
        if not part or part == "void":
            continue
        part = " ".join(re.sub(r"\b__restrict__\b|\b__restrict\b|\b__grid_constant__\b|\[\[[^\]]*\]\]", " ", part).split())
        words = re.match(r"(?P<type>.*[\s*&>])(?P<name>[A-Za-z_]\w*)\s*(?P<array>\[[^\]]*\])?$", part, flags=re.DOTALL)
        if words is None or words["name"] in ("int", "float", "double", "char", "unsigned", "long", "short", "bool"):
            yield f"argument {number}", part
        else:
            yield words["name"], " ".join(words["type"].split()) + ("*" if words["array"] else "")


def _entry(number: int, kernel: Signature, overloaded: bool) -> str:
    """What the engine calls, defined inside the kernel's own namespaces so that names and types mean what they mean there."""
    inner = [part for namespace in kernel.namespaces for part in (namespace.split("::") if namespace else [""])]
    opening = "".join(f"namespace {part} {{ " for part in inner)
    types = ", ".join(type_text for _, type_text in kernel.parameters)
    function = f"static_cast<void (*)({types})>(&{kernel.name})" if overloaded else f"&{kernel.name}"
    return f"{opening}HALO_KERNEL({number}, ({kernel.launch_bounds or 0}), ({function})){' }' * len(inner)}"


def _place_dynamic_shared(source: str, code: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """`extern __shared__ T s[];` becomes a pointer into the buffer that a launch gives."""
    names, pieces, end = [], [], 0
    for found in _DYNAMIC_SHARED.finditer(code):
        name, type_text = found["name"], " ".join(found["type"].split())
        pointer = f"reinterpret_cast<{type_text}*>(halo_dynamic_shared())"
        # Outside a function there is no launch yet to ask, so there the name stands for the question.
        if _inside_function(code, found.start()):
            new = f"{type_text}* const {name} = {pointer};"
        else:
            new = f"\n#define {name} ({pointer})\n#line {line_of(code, found.end())}\n"
        names.append((name, type_text))
        pieces += [source[end : found.start()], new]
        end = found.end()
    return "".join([*pieces, source[end:]]), tuple(names)


def _inside_function(code: str, position: int) -> bool:
    scopes: list[_Scope] = []
    statement: list[str] = []
    for token in _TOKEN.finditer(code, 0, position):
        if token[0].startswith("#"):
            continue
        if token[0] == "{":
            scopes += _opened(statement)
            statement = []
        elif token[0] in ("}", ";"):
            if token[0] == "}" and scopes:
                scopes.pop()
            statement = []
        else:
            statement.append(token[0])
    return any(s.namespace is None and not s.transparent for s in scopes)
