"""Turns a kernel text of CUDA C++ into one that g++ compiles."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tests.support.cupy_host import build

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
KERNEL = re.compile(
    r"(template\s*<[^;{}]*>\s*)?(extern\s+\"C\"\s+)?(?:static\s+|inline\s+)?__global__\s+"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\("
)
DYNAMIC = re.compile(
    r"extern\s+__shared__\s+((?:__align__\s*\(\s*\d+\s*\)\s*)?)([\w:<>\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;"
)
DEVICE_VARIABLE = re.compile(r"__device__(?=\s+[\w:<>\s,*&]+?(?:\[[^\]]*\]\s*)*(?:=|;))")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
# Statements of PTX, and what they are on the host.
INSTRUCTIONS = {
    re.compile(r'asm\("add\.rn\.f\d\d %0, %0, %1;"[^;]*;'): "a = cuda_unflushed_sum(a, b);",
    re.compile(
        r'asm\("\{ \.reg[^}]*?setp\.gtu[^}]*\}"[^;]*;'
    ): "a = cuda_unflushed_extreme<true>(a, b);",
    re.compile(
        r'asm\("\{ \.reg[^}]*?setp\.leu[^}]*\}"[^;]*;'
    ): "a = cuda_unflushed_extreme<false>(a, b);",
}
# What makes the threads of a block wait for each other.
WAITS = re.compile(
    r"__sync\w+|__shfl\w*_sync|__(?:ballot|any|all|match_\w+|reduce_\w+)_sync|__activemask"
)
# The names of kernels that CuPy and ufuse write.
GENERATED = re.compile(r"(?:cupy|ufuse)_\w*$")
PASSED_ON = ("-D", "-U", "-I", "-std=", "--std=")
OWN_FOLDER = f"-I{build.INCLUDE}"


@dataclass(frozen=True)
class Text:
    """A kernel text as it is given to the compiler of CUDA."""

    source: str
    options: tuple[str, ...] = ()
    name_expressions: tuple[str, ...] = ()

    @functools.cached_property
    def key(self) -> str:
        """What the text is known by."""
        return self._key_of(self.source)

    @functools.cached_property
    def unit_key(self) -> str:
        """What the compiled text is kept by: the same for texts that differ in names of kernels and in comments only."""
        return self._key_of(self.nameless)

    def _key_of(self, source: str) -> str:
        return build.key_of(
            source, *self.host_options, *self.name_expressions, str(self.flushes), RULES
        )

    @functools.cached_property
    def nameless(self) -> str:
        """The text without comments, its kernels called by their places, each line where it was.

        Of the program's own texts nothing is changed: they may have variables, which no two texts share.
        """
        if self.name_expressions or not all(map(GENERATED.match, self.kernels)):
            return self.stripped
        lines = "\n".join(line.rstrip() for line in self.stripped.split("\n"))
        for place, name in enumerate(self.kernels):
            lines = re.sub(rf"\b{name}\b", f"kernel_{place}", lines)
        return lines

    @property
    def host_options(self) -> tuple[str, ...]:
        """The options that mean something to g++; CuPy's own headers are given by whoever compiles."""
        return tuple(
            option.replace("--std", "-std")
            for option in self.options
            if option.startswith(PASSED_ON)
            and not option.startswith(OWN_FOLDER)
            and not option.endswith("cupy/_core/include")
            and "_cccl" not in option
        )

    @functools.cached_property
    def stripped(self) -> str:
        """The source without comments, each line where it was."""
        return COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.source)

    @property
    def waits(self) -> bool:
        """Whether threads of a block wait for each other, so that they are fibers."""
        return WAITS.search(self.stripped) is not None

    @property
    def flushes(self) -> bool:
        """Whether denormals are flushed, as -ftz=true has it; the host can do it only for both widths at once."""
        wanted = {"-ftz=true", "--ftz=true"} & set(self.options)
        return bool(wanted) and re.search(r"\bdouble\b", self.stripped) is None

    @functools.cached_property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels that are no templates, and the expressions that were asked for."""
        return self.found_in(self.stripped)

    def found_in(self, text: str) -> tuple[str, ...]:
        """The names of kernels in a text, and the expressions."""
        plain = [match[3] for match in KERNEL.finditer(text) if match[1] is None]
        return (*dict.fromkeys(plain), *self.name_expressions)

    @property
    def undeclared(self) -> list[str]:
        """The names that the text uses and no header of it declares: all texts here share one that declares them."""
        body = INCLUDE.sub("", self.stripped)
        return [
            name
            for name, header in DECLARING.items()
            if re.search(rf"\b{name}\b", body)
            and (f"cupy/{header}" not in self.source or not self.finds_headers)
        ]

    @property
    def finds_headers(self) -> bool:
        """Whether the options say where CuPy's headers are."""
        return any(one.startswith("-I") and one.endswith("_core/include") for one in self.options)

    @property
    def can_share_a_unit(self) -> bool:
        """Whether the text may lie in a namespace beside others: it includes only what all do."""
        includes = {
            re.sub(r'"(.*)"', r"<\1>", re.sub(r"\s+", "", match[0]))
            for match in INCLUDE.finditer(self.stripped)
        }
        return includes <= COMMON_INCLUDES

    def unit(self) -> str:
        """The text for g++, and the table of its kernels."""
        return f'#line 1 "kernel"\n{rewritten(self.nameless)}\n{self.table("")}'

    def part(self) -> str:
        """The text for g++ as a part of a unit with others."""
        body = INCLUDE.sub("", rewritten(self.nameless))
        body = re.sub(r'extern\s+"C"\s+(?=__global__)', "", body)
        macros = dict.fromkeys(re.findall(r"#\s*define\s+(\w+)", body))
        body += "".join(f"\n#undef {name}" for name in macros if name not in OF_ALL)
        return f'namespace text_{self.unit_key} {{\n#line 1 "kernel"\n{body}\n}}\n{self.table(f"text_{self.unit_key}::")}'

    def table(self, namespace: str) -> str:
        """The kernels' names and addresses, in the order of `kernels`, found by the key of the unit."""
        names = self.found_in(self.nameless)
        rows = "".join(f'CUDA_KERNEL("{name}", {namespace}{name}), ' for name in names)
        return f'extern "C" KernelEntry cuda_kernels_{self.unit_key}[] = {{{rows}{{}}}};\n'


@functools.lru_cache(maxsize=4096)
def text_of(source: str, options: tuple[str, ...], name_expressions: tuple[str, ...]) -> Text:
    """The text that is given so: what is found in it is looked for once."""
    return Text(source, options, name_expressions)


def rewritten(text: str) -> str:
    """Say in words of the host what no macro can."""
    text = DYNAMIC.sub(r"\2 *const \3 = (\2 *)cuda_dynamic_shared;", text)
    for instruction, meaning in INSTRUCTIONS.items():
        text = instruction.sub(meaning, text)
    return DEVICE_VARIABLE.sub("__device_variable__", text)


DECLARING = {  # which header of CuPy's has a name
    "float16": "float16.cuh",
    "bfloat16": "bfloat16.cuh",
    "complex": "complex.cuh",
    "_floor_divide": "carray.cuh",
    "M_PI": "math_constants.h",
    "_cupy_bitcount": "cuda_workaround.h",
}
OF_ALL = {"NAN"}  # macros that some texts define and all may use
COMMON_INCLUDES = {
    f"#include<cupy/{name}>"
    for name in (
        "complex.cuh",
        "carray.cuh",
        "atomics.cuh",
        "math_constants.h",
        "float16.cuh",
        "bfloat16.cuh",
    )
}
RULES = "3"  # a change of how texts are rewritten is to change it
