"""Graphs as text, and back: `to_text(parse(text)) == text` for text that `to_text` wrote.

    a: f8[n, m]; v = index a [1:n-1, 0]; s = reduce_add v axis=(0,); return s

One statement on a line, or several with `;` between. An input is `name: type`; an operation is
`name = op inputs attributes`, with `name: type = ...` where the type does not follow from the inputs'.
A number used once stands where it is used. `#` opens a comment.
"""

from ufuse.graph.text.notation import parse_type, type_text
from ufuse.graph.text.parser import parse
from ufuse.graph.text.values import TextError
from ufuse.graph.text.writer import to_text

__all__ = ["TextError", "parse", "parse_type", "to_text", "type_text"]
