"""What LLVM is told of better code beside the code: which memory is apart."""

from __future__ import annotations

MOST_APART = 40  # arrays of which LLVM is told that they share no memory
FIRST_SCOPE = 5  # the number of what tells it: before it are those of `nest_text`


class Notes:
    """The notes of a function, by number, of as many arrays; none where there is no array."""

    def __init__(self, arrays: int) -> None:
        self._arrays = arrays if 1 < arrays <= MOST_APART else 0

    def apart(self, number: int) -> str:
        """What is added to a load or store: it is of an array that shares no memory with others."""
        if not self._arrays:
            return ""
        scope = FIRST_SCOPE + 3 * number
        return f", !alias.scope !{scope + 1}, !noalias !{scope + 2}"

    def lines(self) -> list[str]:
        """The definitions of what was added."""
        if not self._arrays:
            return []
        domain = FIRST_SCOPE - 1
        scopes = [FIRST_SCOPE + 3 * number for number in range(self._arrays)]
        found = [f"!{domain} = distinct !{{!{domain}}}"]
        for scope in scopes:
            others = ", ".join(f"!{other}" for other in scopes if other != scope)
            found.append(f"!{scope} = distinct !{{!{scope}, !{domain}}}")
            found += [f"!{scope + 1} = !{{!{scope}}}", f"!{scope + 2} = !{{{others}}}"]
        return found
