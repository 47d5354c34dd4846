"""Says whether `make gpu-check` can run here; exits 1, with the reason, where it cannot."""

import sys

try:
    import cupy
except ImportError as error:
    print(f"gpu-check: nothing to run, CuPy is not installed ({error}):")
    print("  pip install '.[cuda12]' or '.[cuda13]' in the environment that `make test` made")
    sys.exit(1)
try:
    count = cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as error:
    print(f"gpu-check: nothing to run, CuPy finds no GPU ({error})")
    sys.exit(1)
for number in range(count):
    print("gpu-check:", cupy.cuda.runtime.getDeviceProperties(number)["name"].decode())
