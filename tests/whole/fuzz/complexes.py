"""Complex numbers in random programs of loops."""

from __future__ import annotations

# `Z`: a complex number; `F`, `I`, `B`: a float, an int, a condition.
NUMBERS = (
    "(Z) + (Z)", "(Z) - (Z)", "(Z) * (Z)", "(Z) * (Z)", "(Z) * 0.5", "(F) * (Z)", "(Z) - (F)", "(F) + (Z)", "(Z) / 2.0", "-(Z)", "(Z).conjugate()",
    "complex(F, F)", "(Z) ** 2", "1j * (Z)", "(Z if B else Z)", "(Z) * (Z) + (Z)", "(I) + (Z)", "complex(F)",
)  # fmt: skip
RARE_NUMBERS = (
    "(Z) / (Z)", "(F) / (Z)", "(Z) ** 3", "np.conj(Z)", "np.complex128(Z)", "complex(Z)", "+(Z)", "(Z) ** (I)", "(Z) ** 0.5", "(Z) + (B)", "(Z) * 1e200",
    "(Z) ** -1", "np.exp(Z)", "complex(I, F)", "(Z) * np.float64(0.5)", "(Z) - 1j * (F)", "np.sqrt(Z)",
)  # fmt: skip
REALS = (
    "abs(Z)", "abs(Z)", "(Z).real", "(Z).imag", "np.abs(Z)", "(Z).real * (Z).imag", "np.real(Z)", "(Z).real ** 2 + (Z).imag ** 2", "abs((Z) - (Z))",
)  # fmt: skip
TRUTHS = ("(Z) == (Z)", "(Z) != (Z)", "abs(Z) > 2.0", "bool(Z)", "(Z) == (F)", "(not Z)")
LITERALS = ("0j", "1j", "1 + 2j", "0.5 - 0.25j", "-1j", "complex(0.0, -0.0)", "complex(INF, 1.0)")
STARTS = ("0j", "1j", "z", "complex(x)", "0.0", "np.complex128(0)", "1 + 1j", "z")
ARGUMENTS = (
    "0j", "0.25 - 0.5j", "1j", "np.complex128(0.5+0.25j)", "-2.0", "complex(0.0, float('nan'))", "complex(1e200, 1.0)", "complex(-0.0, -0.0)", "3",
)  # fmt: skip
