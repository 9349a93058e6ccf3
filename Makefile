# Everything sets itself up: a virtual environment in .venv, the tools that build the native module, the module itself.
# Needs Python >= 3.10, make and a C++20 compiler. `make help` lists the targets: those with a `##` behind them.

PYTHON ?= python3
BIN := .venv/bin
BUILD_TOOLS := "scikit-build-core>=0.11" "nanobind>=3.1" "cmake>=3.25" ninja
DEMO := build/demo
NATIVE := CMakeLists.txt pyproject.toml $(shell find native -name '*.cpp' -o -name '*.h')
CXX_SOURCES := $(filter %.cpp %.h,$(NATIVE)) tests/native/threads.cpp

.PHONY: help build studio test-browser demo test test-interop test-paddle test-jax test-mujoco test-python test-target check asan tsan gpu-test gpu-bench fuzz soak bench bench-interop lint format docs extension clean
.DELETE_ON_ERROR:
.PRECIOUS: .venv-jax-%/tools .venv-python-%/built

build: .venv/built  ## set up .venv and build the native module; the default

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

.venv/tools:
	@echo "Step 1 of 3: make a virtual environment in .venv (seconds)"
	$(PYTHON) -m venv .venv
	@echo "Step 2 of 3: install the build tools (half a minute)"
	$(BIN)/python -m pip install -q --disable-pip-version-check $(BUILD_TOOLS)
	touch $@

# An editable install: Python sources are used in place, and the native module is built beside them.
.venv/built: .venv/tools $(NATIVE)
	@echo "Step 3 of 3: compile the native module and install packages (two minutes the first time, then seconds)"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e ".[dev]"
	touch $@

# The page of the studio, with Node from PyPI and the packages that studio/package-lock.json names.
PAGE := omni/warp_core/studio/page/index.html
studio: $(PAGE)  ## build the page of the studio

$(PAGE): .venv/built tools/studio_page.py studio/package-lock.json studio/index.html studio/vite.config.ts $(shell find studio/src -type f)
	$(BIN)/python -m tools.studio_page

demo: build  ## play a sample scene, whose kernels are in its nodes, and draw the result
	mkdir -p $(DEMO)
	$(BIN)/omni-warp play data/scenes/wave.usda -o $(DEMO)/wave.usdc --trust
	$(BIN)/omni-warp preview $(DEMO)/wave.usdc --frame 30 -o $(DEMO)/wave.png
	@echo "The result is $(DEMO)/wave.usdc; a picture of it is $(DEMO)/wave.png"

# The browser of tests, under the names that distributions give it; CHROMIUM names another one.
CHROMIUM ?= $(firstword $(shell command -v chromium chromium-browser google-chrome 2>/dev/null))

# With byte code in a folder of its own, also where the environment forbids to write any. Without it each of the hundreds
# of processes that tests start would compile the package's sources first.
test test-python-% test-target-%: export PYTHONDONTWRITEBYTECODE =
test test-python-% test-target-%: export PYTHONPYCACHEPREFIX = $(CURDIR)/build/bytecode
test: build studio  ## run all tests on the CPU, and those of the studio in a browser
	$(if $(CHROMIUM),,@echo "NO BROWSER: install Chromium, or the tests of the page of the studio are left out" >&2)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Environments of their own for frameworks, which also see the packages of .venv, the native module included. A framework
# that is missing, or a test that is skipped, is a failure there. INTEROP_TESTS: files and folders of tests.
INTEROP_TESTS ?= tests/interop
.venv-%/tools: tests/interop/requirements-%.txt .venv/built
	@echo "Make a virtual environment in .venv-$* and install $< (some minutes the first time)"
	$(PYTHON) -m venv .venv-$*
	$(BIN)/python -m tools.share_packages .venv-$*
	.venv-$*/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

test-interop: .venv-interop/tools  ## set up PyTorch, JAX and MPI, and run the tests of exchange with them
	OMNI_WARP_INTEROP=torch,jax,xla,mpi,numba,ml_dtypes .venv-interop/bin/python -m pytest -n 2 --dist worksteal $(INTEROP_TESTS)

test-paddle: .venv-paddle/tools  ## the same with Paddle, which takes 1.1 GB
	OMNI_WARP_INTEROP=paddle .venv-paddle/bin/python -m pytest -n 2 --dist worksteal $(INTEROP_TESTS)

.venv-mujoco/tools: tests/programs/requirements-mujoco.txt .venv/built
	@echo "Make a virtual environment in .venv-mujoco and install MuJoCo and MuJoCo Warp (a minute the first time)"
	$(PYTHON) -m venv .venv-mujoco
	$(BIN)/python -m tools.share_packages .venv-mujoco
	.venv-mujoco/bin/python -m pip install -q --disable-pip-version-check -r $<
	.venv-mujoco/bin/python -m pip install -q --disable-pip-version-check --no-deps mujoco-warp==4.0.0
	touch $@

test-mujoco: .venv-mujoco/tools  ## set up MuJoCo Warp, a program for warp-lang, and run it beside MuJoCo
	.venv-mujoco/bin/python -m pytest -n 2 --dist worksteal tests/programs

# One environment for each version of JAX, as JAX is not stable: docs/interop.md has the table of the results.
JAX_VERSIONS ?= 0.4.38 0.5.3 0.6.2 0.7.2 0.8.3 0.9.2 0.10.2
.venv-jax-%/tools: .venv/built
	@echo "Make a virtual environment in .venv-jax-$* and install JAX $* (a minute the first time)"
	$(PYTHON) -m venv .venv-jax-$*
	$(BIN)/python -m tools.share_packages .venv-jax-$*
	.venv-jax-$*/bin/python -m pip install -q --disable-pip-version-check jax==$* jaxlib==$* flatbuffers
	touch $@

test-jax-%: .venv-jax-%/tools
	OMNI_WARP_INTEROP=jax,xla .venv-jax-$*/bin/python -m pytest -n 2 --dist worksteal tests/interop/xla

test-jax: $(addprefix test-jax-,$(JAX_VERSIONS))  ## run the tests of JAX with each version that is supported

# One environment for each version of Python, with a native module of its own beside that of .venv. pyenv's interpreters
# are found where pyenv keeps them, others by their names. PYTHON_TESTS: files and folders of tests.
PYTHON_VERSIONS ?= 3.10 3.12 3.13
PYTHON_TESTS ?= tests
PYENV_ROOT ?= $(HOME)/.pyenv
.venv-python-%/built: pyproject.toml $(NATIVE)
	@echo "Make a virtual environment in .venv-python-$* and build for Python $* (minutes the first time)"
	$(or $(lastword $(wildcard $(PYENV_ROOT)/versions/$*.*/bin/python)),python$*) -m venv .venv-python-$*
	.venv-python-$*/bin/python -m pip install -q --disable-pip-version-check $(BUILD_TOOLS)
	PATH="$(CURDIR)/.venv-python-$*/bin:$$PATH" .venv-python-$*/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation -e ".[dev]"
	touch $@

test-python-%: .venv-python-%/built studio
	.venv-python-$*/bin/python -m pytest -n 2 --dist worksteal $(PYTHON_TESTS)

test-python: $(addprefix test-python-,$(PYTHON_VERSIONS))  ## run all tests with each other version of Python that is supported

# Code for processors that are older than this one. TARGET_TESTS: files and folders of tests.
CPU_TARGETS ?= avx2 sse4
TARGET_TESTS ?= tests
test-target-%: build studio
	OMNI_WARP_CPU_TARGET=$* $(BIN)/python -m pytest -n 2 --dist worksteal $(TARGET_TESTS)

test-target: $(addprefix test-target-,$(CPU_TARGETS))  ## run all tests with code for AVX2, and with code for SSE4.2

test-browser: build studio  ## run the tests of the studio in a real browser
	OMNI_WARP_CHROMIUM="$(CHROMIUM)" $(BIN)/python -m pytest tests/browser

# The tests also fail where generated stubs and pages are not those of the source.
check: lint test  ## everything that must pass before a commit: lint, types, tests, generated files up to date

# See tools/sanitize. ASAN_TESTS: files and folders of tests.
ASAN_TESTS ?= $(addprefix tests/,native arrays devices launches graphs eager)
asan: build  ## build native/ with AddressSanitizer and UBSan, and run the tests of the runtime with it
	$(BIN)/python -m tools.sanitize address,undefined -n 2 --dist worksteal $(ASAN_TESTS)

# Without Python, whose own races would have to be suppressed, and in which signals come late.
TSAN := build/tsan
TSAN_OBJECTS := $(patsubst %.cpp,$(TSAN)/%.o,$(filter native/src/%.cpp,$(NATIVE)) tests/native/threads.cpp)
TSAN_FLAGS := -std=c++20 -O1 -g -fsanitize=thread -ffp-contract=off -Inative/include -Inative/src
tsan: $(TSAN_OBJECTS)  ## build native/src with ThreadSanitizer, and let many threads use it
	$(CXX) $(TSAN_FLAGS) $^ -o $(TSAN)/threads -pthread -ldl
	$(TSAN)/threads

$(TSAN)/%.o: %.cpp $(filter %.h,$(NATIVE))
	@mkdir -p $(@D)
	$(CXX) $(TSAN_FLAGS) -c $< -o $@

# The suite about GPUs, and those that are about no device, on the first GPU of the machine. Each call ends in GPU_SECONDS
# and goes on where the last one ended; results are in build/gpu-tests. Where nothing can be installed,
# `make gpu-test GPU_PYTHON=python3` does it with the Python that is there. GPU_SUITES: folders and files of tests.
GPU_PYTHON ?= $(BIN)/python
GPU_JOBS ?= 4
GPU_SECONDS ?= 540
gpu-test: $(if $(filter $(BIN)/%,$(GPU_PYTHON)),build)  ## run the tests on the first GPU
	$(GPU_PYTHON) tools/gpu_tests.py --jobs $(GPU_JOBS) --seconds $(GPU_SECONDS) $(GPU_SUITES)

# GPU_PEER_PYTHON: a Python that has what to compare with (benchmarks/requirements/gpu.txt), or a part of it.
GPU_PEER_PYTHON ?= $(GPU_PYTHON)
gpu-bench: $(if $(filter $(BIN)/%,$(GPU_PYTHON)),build)  ## run the benchmarks on the first GPU
	$(GPU_PYTHON) benchmarks/gpu.py --peer-python $(GPU_PEER_PYTHON)

# Random programs whose derivatives the suite judges in small numbers, and more ways to compile than the suite takes.
FUZZED := tests/autodiff/test_tangent.py tests/autodiff/test_compiled_adjoints.py tests/autograd/test_hvp.py \
	tests/tape/test_deterministic.py tests/lang/blocks/test_random_blocks.py tests/lang/test_random_python.py \
	tests/tape/test_random_tapes.py $(addprefix tests/nodes/test_,random_scenes.py fuzz.py fuzz_node_types.py)
fuzz: build  ## compile mutated kernels of the tests for ten minutes, judge derivatives of a thousand programs, start 32 processes on an empty cache, compile every kernel of the tests for GPUs in all ways, and read a million mutated volume files; failures go to build/fuzz
	$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED))
	OMNI_WARP_PROGRAMS=0:1060 $(BIN)/python -m pytest -n 2 tests/autodiff/test_random_gradients.py
	OMNI_WARP_PROGRAMS=0:300 OMNI_WARP_TAPES=0:300 OMNI_WARP_RANDOM=0:300 OMNI_WARP_SCENES=0:300 $(BIN)/python -m pytest -n 2 $(FUZZED)
	OMNI_WARP_RANDOM_PROGRAMS=600 $(BIN)/python -m pytest -n 2 tests/ir/test_random.py $(addprefix tests/codegen/test_,random.py failure_runs.py nvptx_semantics.py)
	OMNI_WARP_COLD_PROCESSES=32 $(BIN)/python -m pytest -n 0 tests/launches/test_cold_processes.py
	OMNI_WARP_PTX=all $(BIN)/python -m pytest -n 2 tests/codegen/test_nvptx_corpus.py tests/codegen/test_nvptx_blocks.py
	$(BIN)/python -m tests.volumes.file_fuzz $(if $(SEED),--seed $(SEED))

soak: build  ## run random programs in one process for an hour, or MINUTES, and fail if its memory grows
	$(BIN)/python -m tests.fuzz.soak --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

bench: build  ## run the benchmarks, side by side with their peers
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/more_peers.py
	$(BIN)/python benchmarks/latency.py
	$(BIN)/python benchmarks/launch.py
	$(BIN)/python benchmarks/gradients.py
	$(BIN)/python benchmarks/springs.py
	$(BIN)/python benchmarks/algorithms.py
	$(BIN)/python benchmarks/geometry.py
	$(BIN)/python benchmarks/neighbours.py
	$(BIN)/python benchmarks/surfaces.py
	$(BIN)/python benchmarks/sparse.py
	$(BIN)/python benchmarks/tiles.py
	$(BIN)/python benchmarks/volumes.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/values.py
	$(BIN)/python benchmarks/nodes.py
	$(BIN)/python benchmarks/node_frames.py

# warp-lang in an environment of its own, which also sees PyTorch and JAX of .venv-interop. INTEROP_ROUNDS: more are quieter.
INTEROP_ROUNDS ?= 5
.venv-interop-peer/tools: benchmarks/requirements/interop.txt .venv-interop/tools
	@echo "Make a virtual environment in .venv-interop-peer with warp-lang (half a minute the first time)"
	$(PYTHON) -m venv .venv-interop-peer
	.venv-interop/bin/python -m tools.share_packages .venv-interop-peer
	.venv-interop-peer/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

bench-interop: .venv-interop-peer/tools  ## run the benchmarks of exchange with PyTorch and JAX, beside warp-lang
	.venv-interop/bin/python benchmarks/interop.py --peer-python .venv-interop-peer/bin/python --rounds $(INTEROP_ROUNDS)

extension: build  ## put the extension for Kit together, in build/exts
	$(BIN)/python -m tools.extension

docs: build  ## write what is generated from the source: reference pages, type stubs, pages of errors and nodes
	$(BIN)/python -m tools.docs

# `make -j2 lint` checks types beside the rest.
lint: lint-types lint-style  ## check style, types and English: ruff, mypy, clang-format, tools/english.py, and the page of the studio

lint-types: build
	$(BIN)/mypy

lint-style: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)
	$(BIN)/python -m tools.english
	$(BIN)/python -m tools.studio_page check

format: build  ## let ruff and clang-format repair what they can
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

clean:  ## remove .venv and everything that was built
	rm -rf .venv .venv-interop .venv-interop-peer .venv-paddle .venv-jax-* .venv-python-* build omni/warp_core/_native*.so omni/warp_core/studio/page studio/node_modules
