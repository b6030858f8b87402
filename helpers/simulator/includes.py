"""Which files a source may include: CUDA's and the host's headers, its own folder's, and -I's.

The compilers themselves would open any file that this process may read, and show its text in their
messages. So every directive is looked at before they are: those with a full path, and those that
lead out of the folders, are refused.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .toolchain import CompileFailed

# Phases 3 and 4 of translation: what stands inside comments and literals is no directive.
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | \.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*
      | (?P<name>[A-Za-z_]\w*(?=['"])|[A-Za-z_]\w*)
      | (?P<literal>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    """,
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(
    r"^\s*(?:\#|%:|\?\?=)\s*(?P<word>include_next|include|import|embed)\b\s*(?P<operand>[^\n]*)",
    re.MULTILINE | re.VERBOSE,
)
# Wherever a directive could stand, whatever comments and literals there are.
_ANYWHERE = re.compile(
    r"(?:^|\*/)\s*(?:\#|%:|\?\?=)(?:\s|/\*.*?\*/)*"
    r"(?P<word>include_next|include|import|embed)\b(?P<operand>[^\n]*)",
    re.MULTILINE,
)
_ASKED = re.compile(r"\b__has_(?:include(?:_next)?|embed)\s*\(\s*(?P<operand>[^)\n]*)")
_FILE = re.compile(r'"(?P<quoted>[^"\n]*)"|<(?P<angled>[^>\n]*)>')
_DEFINITION = re.compile(
    r"^\s*(?:#|%:|\?\?=)\s*define[ \t]+(?P<name>\w+)(?P<value>[^\n]*)", re.MULTILINE
)
_MACRO = re.compile(r"[A-Za-z_]\w*")


def check(source: str, file: str, macros: str, folders: Sequence[Path]) -> dict[str, str]:
    """Looks at the files that `source` includes, and those that they include.

    Conditions around a directive do not count. macros: preprocessor lines before the source;
    folders: the source's own, where it has one, and those of -I.
    Returns the texts by path of those that lie in `folders`: the compilation depends on them.
    Raises toolchain.CompileFailed for a file elsewhere that is neither CUDA's nor the host's.
    """
    found: dict[str, str] = {}
    waiting: list[tuple[str, str, Path | None]] = [(macros, file, None), (source, file, None)]
    texts = [macros, source]
    while waiting:
        text, name, folder = waiting.pop()
        for operand, line in _operands(text):
            for included, quoted in _files(operand, texts, name, line):
                path = _place(included, quoted, name, line, folder, folders)
                if path is not None and str(path) not in found:
                    found[str(path)] = path.read_text(encoding="utf-8", errors="replace")
                    texts.append(found[str(path)])
                    waiting.append((found[str(path)], path.name, path.parent))
    return found


def without_comments(text: str) -> str:
    """The text with comments and the insides of literals blanked out; nothing moves."""

    def blank(match: re.Match[str]) -> str:
        words = match.group(0)
        if match["comment"] or match["raw"]:
            return re.sub(r"[^\n]", " ", words)
        if match["literal"] and words != '"C"':  # of extern "C"
            return (
                words[0] + re.sub(r"[^\n]", " ", words[1:-1]) + words[-1] if len(words) > 1 else " "
            )
        return words

    return _TOKEN.sub(blank, text)


def _operands(text: str) -> Iterator[tuple[str, int]]:
    """What stands behind each #include and inside each __has_include, with its line."""
    for view in _views(text):
        doubtful = "??" in view or re.search(r'R"', view) is not None or _lone_quote(view)
        plain = view if doubtful else _without(view)
        for pattern in (_ANYWHERE if doubtful else _DIRECTIVE, _ASKED):
            for found in pattern.finditer(plain):
                operand = (
                    re.sub(r"/\*.*?\*/|//.*", " ", found["operand"])
                    if doubtful
                    else found["operand"]
                )
                yield operand.strip(), view.count("\n", 0, found.start("operand")) + 1


def _views(text: str) -> tuple[str, ...]:
    """The text with lines joined at backslashes, with and without trigraphs replaced."""
    joined = re.sub(r"\\[ \t]*\r?\n", "", text)
    if "??" not in text:
        return (joined,)
    return joined, re.sub(r"\\[ \t]*\r?\n", "", text.replace("??/", "\\").replace("??=", "#"))


def _without(text: str) -> str:
    """Without comments; literals stay, as directives have some."""
    return _TOKEN.sub(lambda m: (" " + "\n" * m[0].count("\n")) if m["comment"] else m[0], text)


def _lone_quote(text: str) -> bool:
    return any(
        m["literal"] and (len(m[0]) < 2 or m[0][0] != m[0][-1]) for m in _TOKEN.finditer(text)
    )


def _files(operand: str, texts: Sequence[str], file: str, line: int) -> Iterator[tuple[str, bool]]:
    """The files that the operand of a directive may name, and whether they stand in quotes."""
    if named := _FILE.match(operand):
        yield (named["quoted"], True) if named["quoted"] is not None else (named["angled"], False)
        return
    macro = _MACRO.fullmatch(operand)
    defined = [
        (m["name"], m["value"].strip())
        for text in texts
        for m in _DEFINITION.finditer(_without(text))
    ]
    names = {name for name, _ in defined}
    for value in (value for name, value in defined if macro and name == macro[0]):
        named = _FILE.fullmatch(value)
        # Inside angle brackets, the preprocessor goes on to replace names.
        if named is None or (
            named["angled"] is not None and names & set(_MACRO.findall(named["angled"]))
        ):
            break
        yield (named["quoted"], True) if named["quoted"] is not None else (named["angled"], False)
    else:
        if (
            macro is not None
        ):  # without a definition here, the compiler refuses it, or one of its own headers gave it
            return
    raise CompileFailed(
        f"{file}({line}): error: #include {operand} -- the simulator takes the name of a file in "
        "quotes or angle brackets only, "
        f'or a macro that is defined as one, such as #define HEADER "tile.cuh"'
    )


def _place(
    included: str, quoted: bool, file: str, line: int, folder: Path | None, folders: Sequence[Path]
) -> Path | None:
    """The file of `folders` that is meant; None for one of CUDA's or the host's.

    Raises toolchain.CompileFailed for any other.
    """
    asked = f'"{included}"' if quoted else f"<{included}>"
    if included.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", included):
        raise CompileFailed(
            f"{file}({line}): error: #include {asked} -- a full path is not allowed: include "
            "CUDA's headers, or files of the folders "
            "that -I names"
        )
    roots = [os.path.abspath(root) for root in folders]
    around = ([folder] if folder is not None and quoted else []) + list(folders)
    for start in around:
        path = os.path.abspath(os.path.join(start, included))
        inside = any(path == root or path.startswith(root + os.sep) for root in roots)
        if inside and os.path.isfile(path):
            return Path(path)
    if ".." in included.replace("\\", "/").split("/"):
        raise CompileFailed(
            f"{file}({line}): error: #include {asked} -- it leads out of the folders that may be "
            "read: include CUDA's headers, or "
            "files of the folders that -I names"
        )
    return None
