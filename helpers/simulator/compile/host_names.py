"""The names that nvcc knows beside NVRTC: those of the host's headers and of CUDA's run time.

nvcc takes a source that NVRTC has refused only if such a name was missing. To ask nvcc takes longer
than a compilation, and most sources that NVRTC refuses are wrong.
"""

from __future__ import annotations

import re
from functools import cache

from . import compiler_cache, standard_headers, toolkit

_TOKEN = re.compile(
    r'^[ \t]*\#[ \t]*define[ \t]+(?P<macro>\w+)[^\n]*|^[ \t]*\#[^\n]*|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'|(?P<word>[A-Za-z_]\w*)|(?P<sign>[{}();<>=])",
    re.MULTILINE,
)
# What the compiler says of a name that it does not know, or of a call that fits no function.
_OF_A_NAME = re.compile(
    r"error: .*(?:is undefined|has no member|has not been declared|is not a |no instance of"
    r"|more than one instance of|is ambiguous|must be a |incomplete type|could not be resolved)"
)
_QUOTED = re.compile(r'"([^"]*)"')
_NAME = re.compile(r"[A-Za-z_]\w*")


def may_be_missing(message: str) -> bool:
    """Return whether a name of the host's headers may be what NVRTC's message is about: so nvcc may
    take the source.
    """
    errors = [line for line in message.splitlines() if _OF_A_NAME.search(line)]
    said = {name for line in errors for text in _QUOTED.findall(line) for name in
            _NAME.findall(text)}  # fmt: skip
    if not said:
        return False
    known = names()
    return known is None or any(name.startswith("__") or name in known for name in said)


@cache
def names() -> frozenset[str] | None:
    """Return the macros, and the names in namespaces, of the headers that a source may include or
    that nvcc includes; None without a host compiler that lists them.
    """
    host = toolkit.host_compiler()
    if host is None:
        return None
    key = compiler_cache.key_of([str(host), repr(toolkit.versions()), "host names 1"])
    record = compiler_cache.load("names", key)
    if record is None or not isinstance(record.get("names"), list):
        text = _headers(str(host))
        if text is None:
            return None
        record = {"names": sorted(_in_namespaces(text))}
        compiler_cache.store("names", key, record)
    return frozenset(record["names"])


def _headers(host: str) -> str | None:
    """Return the preprocessed text of the headers with its definitions of macros."""
    with toolkit.scratch() as folder:
        tools = standard_headers.write_tools(folder / "tools")
        included = ("cuda_runtime.h", *standard_headers.headers())
        lines = [f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in included
                 if "/" not in name]  # fmt: skip
        (folder / "all.cpp").write_text("".join(lines), encoding="utf-8")
        folders = [f"-I{path}" for path in toolkit.include_directories()]
        cuda = ["-D__CUDACC__", "-D__NVCC__", "-D__CUDA_ARCH__=900", "-D__CUDA_ARCH_LIST__=900"]
        command = [host, "-E", "-dD", "-std=c++17", *cuda, *folders, *tools, "all.cpp"]
        done = toolkit.run(command, folder)
    return None if done.returncode else done.stdout


def _in_namespaces(text: str) -> set[str]:
    """Return the macros of a text, and the names that stand in it outside bodies and parentheses,
    with those of enumerations.
    """
    found: set[str] = set()
    open_scopes: list[bool] = []  # for each brace, whether the names in it count
    depth, head = 0, ""
    for token in _TOKEN.finditer(text):
        if token["macro"]:
            found.add(token["macro"])
        elif word := token["word"]:
            if not depth and all(open_scopes):
                found.add(word)
            head = word if word in ("namespace", "enum", "extern") else head
        elif sign := token["sign"]:
            if sign == "(":
                depth += 1
            elif sign == ")":
                depth = max(depth - 1, 0)
            elif sign == "{":
                open_scopes.append(head != "")
                depth, head = 0, ""
            elif sign == "}":
                if open_scopes:
                    open_scopes.pop()
                head = ""
            elif sign == ";":
                depth, head = 0, ""
    return found
