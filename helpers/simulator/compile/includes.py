"""Checks which files a source includes. It may include the headers of CUDA and of the host, and
files of its own folder and of the folders of -I.

The compilers would open any file that this process may read, and show its text in their messages.
So this module reads every directive before a compiler does. It refuses full paths, and paths that
lead out of the folders.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from .toolchain import CompileFailed

# Phases 3 and 4 of translation: text inside comments and literals is no directive.
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
_RAW = re.compile(r'(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(')
# A comment, a word, a number or a literal up to a raw string: what could hide its beginning.
_UP_TO_RAW = re.compile(
    r"""//[^\n]*|/\*|\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*|(?P<raw>(?:u8|[uUL])?R"[^()\\\s"]{0,16}\()
      | [A-Za-z_]\w* | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'?
    """,
    re.VERBOSE,
)
# Behind these, one reader may take for a literal what another takes for a directive.
_DOUBTFUL = re.compile(
    r"""\?\?|\\[ \t]*\r?\n|(?:#|%:)(?:[^\n"]*R"|\s*(?:if|el|end|error|warning|line|/\*))"""
)
# Matches a directive at every place, no matter which comments and literals are around it.
_ANYWHERE = re.compile(
    r"(?:^|\*/)\s*(?:\#|%:|\?\?=)(?:\s|/\*.*?\*/)*"
    r"(?P<word>include_next|include|import|embed)\b(?P<operand>[^\n]*)",
    re.MULTILINE,
)
_HAS_INCLUDE = re.compile(r"\b__has_(?:include(?:_next)?|embed)\s*\(\s*(?P<operand>[^)\n]*)")
_FILE = re.compile(r'"(?P<quoted>[^"\n]*)"|<(?P<angled>[^>\n]*)>')
_DEFINITION = re.compile(
    r"^\s*(?:#|%:|\?\?=)\s*define[ \t]+(?P<name>\w+)(?P<value>[^\n]*)", re.MULTILINE
)
_MACRO = re.compile(r"[A-Za-z_]\w*")


def check(source: str, file: str, macros: str, folders: Sequence[Path]) -> dict[str, str]:
    """Check the files that `source` includes, and the files that these include.

    It ignores conditions around a directive. macros: preprocessor lines before the source; folders:
    the source's own, if it has one, and those of -I.
    Returns the texts of the files in `folders` by path, because the compilation depends on them.
    Raises toolchain.CompileFailed for any other file that is no header of CUDA or of the host.
    """
    texts_by_path: dict[str, str] = {}
    waiting: list[tuple[str, str, Path | None]] = [(macros, file, None), (source, file, None)]
    texts = [macros, source]
    while waiting:
        text, name, folder = waiting.pop()
        for operand, line in _operands(text):
            for included, quoted in _files(operand, texts, name, line):
                path = _place(included, quoted, name, line, folder, folders)
                if path is not None and str(path) not in texts_by_path:
                    texts_by_path[str(path)] = path.read_text(encoding="utf-8", errors="replace")
                    texts.append(texts_by_path[str(path)])
                    waiting.append((texts_by_path[str(path)], path.name, path.parent))
    return texts_by_path


@lru_cache(maxsize=16)  # several steps of a compilation ask for the same source
def without_comments(text: str) -> str:
    """Return the text with blanks for comments and the insides of literals; nothing moves."""

    def blank(match: re.Match[str]) -> str:
        words = match.group(0)
        if match["comment"] or match["raw"]:
            return re.sub(r"[^\n]", " ", words)
        if match["literal"] and words != '"C"':  # extern "C" keeps its literal
            return (
                words[0] + re.sub(r"[^\n]", " ", words[1:-1]) + words[-1] if len(words) > 1 else " "
            )
        return words

    return _TOKEN.sub(blank, text)


@lru_cache(maxsize=64)
def without_raw_strings(text: str) -> str:
    """Return the text with blanks for the insides of raw strings. Where one reader may see other
    strings than another, as in an `#if`, behind a spliced line or a lone quote, return it as it is.
    The time grows with the length of the text only.
    """
    if 'R"' not in text or _DOUBTFUL.search(text):
        return text
    pieces, end, at = [], 0, 0
    while found := _UP_TO_RAW.search(text, at):
        at = found.end()
        if found["raw"]:
            opening = _RAW.match(found["raw"])
            assert opening is not None
            closing = text.find(f'){opening["delimiter"]}"', at)
            if closing < 0:
                return text
            pieces += [text[end:at], re.sub(r"[^\n]", " ", text[at:closing])]
            end = at = closing
            at += len(opening["delimiter"]) + 2
        elif found[0] == "/*":
            at = text.find("*/", at) + 2
            if at < 2:
                return text
        elif found[0][0] in "\"'" and (
            len(found[0]) < 2 or found[0][0] != found[0][-1] or text[at : at + 1].isidentifier()
        ):
            return text
    return "".join([*pieces, text[end:]])


@lru_cache(maxsize=64)  # each launch of a source checks its files again
def _operands(text: str) -> tuple[tuple[str, int], ...]:
    """Return the operand of each #include and each __has_include, with its line."""
    return tuple(_read_operands(text))


def _read_operands(text: str) -> Iterator[tuple[str, int]]:
    for view in _views(without_raw_strings(text)):
        doubtful = "??" in view or _NOT_BLANK.search(view) is not None or _lone_quote(view)
        plain = view if doubtful else _without(view)
        for pattern in (_ANYWHERE if doubtful else _DIRECTIVE, _HAS_INCLUDE):
            for match in pattern.finditer(plain):
                operand = (
                    re.sub(r"/\*.*?\*/|//.*", " ", match["operand"])
                    if doubtful
                    else match["operand"]
                )
                yield operand.strip(), view.count("\n", 0, match.start("operand")) + 1


# The beginning of a raw string that `without_raw_strings` has left as it was.
_NOT_BLANK = re.compile(r'R"(?!(?P<delimiter>[^()\\\s"]{0,16})\(\s*\)(?P=delimiter)")')


def _views(text: str) -> tuple[str, ...]:
    """Return the text with lines joined at backslashes: once as it is, once without trigraphs."""
    joined = re.sub(r"\\[ \t]*\r?\n", "", text)
    if "??" not in text:
        return (joined,)
    return joined, re.sub(r"\\[ \t]*\r?\n", "", text.replace("??/", "\\").replace("??=", "#"))


def _without(text: str) -> str:
    """Return the text without comments; it keeps literals, because directives have some."""
    return _TOKEN.sub(lambda m: (" " + "\n" * m[0].count("\n")) if m["comment"] else m[0], text)


def _lone_quote(text: str) -> bool:
    return any(
        m["literal"] and (len(m[0]) < 2 or m[0][0] != m[0][-1]) for m in _TOKEN.finditer(text)
    )


def _files(operand: str, texts: Sequence[str], file: str, line: int) -> Iterator[tuple[str, bool]]:
    """Yield the files that the operand of a directive may name, and whether they are in quotes."""
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
        ):  # without a definition here, it is the compiler's own macro, or the compiler refuses it
            return
    raise CompileFailed(
        f"{file}({line}): error: #include {operand} -- the simulator cannot tell which file this "
        "is: give a name in quotes or angle brackets, "
        f'or a macro that is defined as one, such as #define HEADER "tile.cuh"'
    )


def _place(
    included: str, quoted: bool, file: str, line: int, folder: Path | None, folders: Sequence[Path]
) -> Path | None:
    """Return the included file if `folders` have it, None for a header of CUDA or of the host.

    Raises toolchain.CompileFailed for any other.
    """
    spelling = f'"{included}"' if quoted else f"<{included}>"
    if included.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", included):
        raise CompileFailed(
            f"{file}({line}): error: #include {spelling} -- a full path is not allowed: include "
            "CUDA's headers, or files of the folders that -I names"
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
            f"{file}({line}): error: #include {spelling} -- this path leads out of the allowed "
            "folders: include CUDA's headers, or files of the folders that -I names"
        )
    return None
