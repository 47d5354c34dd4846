# Every command makes the environment it needs: .venv/<python tag>, from PYTHON. A C compiler and pip are all it asks for.
PYTHON ?= python3
PYTEST_ARGS ?=
# How many processes run tests: one for each core; 0 (pytest's own only) where PYTEST_ARGS asks for something else than
# everything, as each takes seconds to start.
WORKERS ?= $(if $(strip $(PYTEST_ARGS)),0,auto)
BENCH ?=
FUZZ_COUNT ?= 5000
FUZZ_SEED ?= 0
CORPUS ?=
STRESS_SECONDS ?= 600
CPYTHON ?=
NUMPY ?=
PACKAGES ?=

# Compiled modules are kept whatever the environment says: tests start many interpreters.
export PYTHONDONTWRITEBYTECODE :=

TAG := $(shell $(PYTHON) -c 'import sys; print("cp%d%d%s" % (*sys.version_info[:2], sys.abiflags))')
ifeq ($(TAG),)
$(error $(PYTHON) does not run: set PYTHON to a CPython 3.11 or later)
endif
VENV := .venv/$(TAG)
# -P: the working folder stays off sys.path, so `ufuse` is always the installed package.
RUN := $(VENV)/bin/python -P
FOLDERS := frame_hook graph backends
C_FILES := $(shell find $(FOLDERS) -name '*.[ch]')
# What decides where packages are found; a change in other Python files needs no new installation.
LAYOUT := pyproject.toml setup.py .ci/environment $(wildcard ufuse/__init__.py $(FOLDERS:%=%/__init__.py))
SANITIZED := build/sanitize/$(TAG)

.PHONY: help demo ready test test-whole test-cpython test-numpy test-packages check bench bench-packages fuzz break-everywhere stress sanitize leaks gpu-check gpu-bench format clean extensions view lint wheel
.DELETE_ON_ERROR:

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: $(VENV)/.demo extensions ## the five programs of the README, compiled against eager
	$(RUN) -m ufuse demo

ready: $(VENV)/.dev extensions ## the environment of PYTHON, and nothing run in it

test: ready ## every test, on PYTHON, on every core; PYTEST_ARGS="-x tests/graph" on one, WORKERS
	$(RUN) -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-whole: export UFUSE_MODES = every
test-whole: PYTEST_ARGS += -m 'not leaks and not gpu'
test-whole: WORKERS = auto
test-whole: test ## tests that are left out, too; comparisons under every treatment of warnings and floating-point errors

check: lint wheel test ## what CI runs on its main interpreter

bench: $(VENV)/.bench extensions ## benchmarks/results; BENCH="names --quick --peers numba,jax"
	$(VENV)/bin/python -m benchmarks $(BENCH)

leaks: $(VENV)/.dev extensions ## long runs that watch references and memory
	$(RUN) -m pytest -m leaks $(PYTEST_ARGS)

fuzz: $(VENV)/.dev extensions ## random programs, plain against compiled; FUZZ_COUNT, FUZZ_SEED
	for kind in numpy python loops sweeps branches cupy; do UFUSE_MEASURE=0 $(RUN) -c 'import runpy, sys; sys.path.append("."); runpy.run_module("tests.whole.fuzz", run_name="__main__")' \
		--kind $$kind --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --processes 2 || exit; done

break-everywhere: $(VENV)/.dev extensions ## the corpus with traces cut after 1, 2, 3, 5 or drawn numbers of instructions
	$(RUN) -c 'import runpy, sys; sys.path.append("."); runpy.run_module("tests.whole.corpus", run_name="__main__")' $(CORPUS)

# One thread of OpenBLAS: a fork while another thread multiplies matrices may wait for ever, with plain NumPy too.
stress: $(VENV)/.dev extensions ## threads, collections everywhere, interrupts, forks; STRESS_SECONDS
	OPENBLAS_NUM_THREADS=1 $(RUN) -c 'import runpy, sys; sys.path.append("."); runpy.run_module("tests.whole.stress", run_name="__main__")' \
		--seconds $(STRESS_SECONDS)

test-cpython: $(VENV)/.dev extensions ## CPython's own tests with every frame traced; CPYTHON="--modules grammar,dict"
	$(RUN) -c 'import runpy, sys; sys.path.append("."); runpy.run_module("tests.whole.cpython", run_name="__main__")' $(CPYTHON)

test-numpy: $(VENV)/.dev extensions ## NumPy's own tests with every test function compiled; NUMPY="--measured --modules _core.einsum,lib.histograms"
	$(RUN) -c 'import runpy, sys; sys.path.append("."); runpy.run_module("tests.whole.numpy_tests", run_name="__main__")' $(NUMPY)

test-packages: $(VENV)-packages/.done extensions ## 1,000 calls of SciPy, scikit-image, scikit-learn, statsmodels and pandas; PACKAGES="--slice --limits"
	$(VENV)-packages/bin/python -P -c 'import runpy, sys; sys.path.append("."); runpy.run_module("tests.whole.packages", run_name="__main__")' $(PACKAGES)

bench-packages: $(VENV)-packages/.done extensions ## functions of SciPy, scikit-image and scikit-learn with loops; BENCH="names"
	$(VENV)-packages/bin/python -m benchmarks.third_party $(BENCH)

# With the packages that PYTHON has, and wheels in build/wheels: where GPUs are, there may be no package index.
gpu-check: ## the tests of the CuPy backend on a real GPU; says why not where there is none; PYTEST_ARGS
	@$(PYTHON) .ci/gpu.py check $(PYTEST_ARGS)

gpu-bench: ## benchmarks/results/gpu: against eager CuPy, cupy.fuse, jax.jit and torch.compile; BENCH="names"
	@$(PYTHON) .ci/gpu.py bench $(BENCH)

# --capture=sys: a sanitizer's report goes past pytest. PYTHONMALLOC: what is freed is freed for the sanitizer too.
# Leaks are for `make leaks`: CPython itself never frees all its memory.
sanitize: $(VENV)/.dev ## the tests under the address and undefined-behaviour sanitizers
	rm -rf $(SANITIZED)/lib
	UFUSE_SANITIZE=1 $(VENV)/bin/python setup.py -q build --build-base $(SANITIZED)/base --build-lib $(SANITIZED)/lib
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/$(SANITIZED)/lib \
	$(RUN) -m pytest --capture=sys -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

# Where UFUSE_DEVELOP is set already, extensions are compiled so in place.
lint: $(VENV)/.dev view $(if $(filter 1,$(UFUSE_DEVELOP)),extensions)
	$(if $(filter 1,$(UFUSE_DEVELOP)),,UFUSE_DEVELOP=1 $(VENV)/bin/python setup.py -q build_ext --build-lib build/develop/$(TAG) --build-temp build/develop/$(TAG)/temp)
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(if $(C_FILES),$(VENV)/bin/clang-format --dry-run --Werror $(C_FILES))
	cd build/view && ../../$(RUN) -m mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache ufuse tests benchmarks

# What `pip install ufuse` would get: made alone, of extensions that need not be compiled again, and imported from where
# it was installed.
wheel: ready
	rm -rf build/wheel build/lib
	find build/lib.*-$(TAG:cp%=cpython-%) -type f ! -name '*.so' -delete
	.ci/environment $(PYTHON) $(VENV) --no-deps --no-build-isolation --target build/wheel .
	PYTHONPATH=build/wheel $(RUN) .ci/imports.py build/wheel/ufuse

format: $(VENV)/.dev ## ruff and clang-format, in place
	$(RUN) -m ruff check --fix-only
	$(RUN) -m ruff format
	$(if $(C_FILES),$(VENV)/bin/clang-format -i $(C_FILES))

clean: ## back to a fresh clone
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find $(FOLDERS) ufuse tests benchmarks -name __pycache__ -prune -exec rm -rf {} + -o -name '*.so' -exec rm -f {} +

# The folders as they install, for tools that follow no import hooks.
view:
	rm -rf build/view
	mkdir -p build/view/ufuse
	ln -s $(addprefix $(CURDIR)/,$(wildcard ufuse/*) $(FOLDERS)) build/view/ufuse/
	ln -s $(CURDIR)/tests $(CURDIR)/benchmarks build/view/

# setuptools compiles only what changed, so this may run every time.
extensions: | $(VENV)/.setuptools
	@$(VENV)/bin/python setup.py -q build_ext --inplace

$(VENV)/.setuptools: .ci/environment
	.ci/environment $(PYTHON) $(VENV) 'setuptools>=77' 'numpy>=2'
	touch $@

# Packages that cannot be had for this Python are left out, and `test-packages` says so.
$(VENV)-packages/.done: tests/whole/packages/requirements.txt $(LAYOUT) | $(VENV)/.setuptools
	.ci/environment $(PYTHON) $(VENV)-packages 'setuptools>=77' 'numpy>=2' 'pytest>=8.3' 'hypothesis>=6.120'
	UFUSE_IN_PLACE=1 .ci/environment $(PYTHON) $(VENV)-packages --no-build-isolation --editable .
	while read -r package; do .ci/environment $(PYTHON) $(VENV)-packages --only-binary :all: "$$package" || \
		echo "skipped: $$package cannot be installed for $(TAG)"; done <$<
	touch $@

$(VENV)/.demo $(VENV)/.dev $(VENV)/.bench: $(VENV)/.%: $(VENV)/.setuptools $(LAYOUT)
	UFUSE_IN_PLACE=1 .ci/environment $(PYTHON) $(VENV) --no-build-isolation --editable '.[$*]'
	touch $@
