# The front door: `make help` lists what can be done. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp' -o -name '*.inc')
SOURCES := $(filter-out cpp/tests/%,$(CPP))
SYSTEM_CMAKE := $(shell command -v cmake 2>/dev/null)
CMAKE := $(or $(SYSTEM_CMAKE),$(BIN)/cmake)
SANITIZE := build/sanitize/$(notdir $(firstword $(CXX)))

# Where the environment forbids it, every process would compile all modules, and every worker of pytest all tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help venv compiler demo studio test lint format sanitize sanitize-threads sanitize-python test-arm fuzz wheel bench docs web wasm clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

venv: $(VENV)/.installed  ## make .venv with the package in it, for demo and studio (PYTHON=python3.x to choose)

demo: venv  ## draw the classic pictures into demo/, and a report that compares methods
	@$(BIN)/lowdim demo --output demo
	@$(BIN)/lowdim compare demo/digits.csv -m pca,isomap,tsne,umap --report demo/report.html --force --quiet
	@echo "The pictures are in demo/; open demo/report.html in a browser"

studio: venv  ## open the studio in the browser, on the files of this folder
	@$(BIN)/lowdim studio

test: $(VENV)/.test  ## run the test suite
	@$(BIN)/python -m pytest -n 2 -q

lint: $(VENV)/.lint  ## check style, types, layers and C++ formatting
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.lint  ## format Python and C++ in place
	@$(BIN)/ruff check -q --fix .
	@$(BIN)/ruff format -q .
	@$(BIN)/clang-format -i $(CPP)

sanitize: $(CMAKE)  ## test the C++ kernels under ASan and UBSan (CXX=clang++ to choose)
	@$(call sanitized,address)

sanitize-threads: $(CMAKE)  ## test the C++ kernels under ThreadSanitizer
	@$(call sanitized,thread)

test-arm: venv $(CMAKE)  ## test the kernels, and as root the digests, on an emulated ARM processor (Debian: g++-aarch64-linux-gnu, qemu-user-static, debootstrap)
	@for name in aarch64-linux-gnu-g++ qemu-aarch64-static; do command -v $$name >/dev/null || \
	  { echo "make test-arm needs $$name: sudo apt-get install g++-aarch64-linux-gnu qemu-user-static" >&2; exit 1; }; done
	@$(CMAKE) -G "Unix Makefiles" -S . -B build/arm -DLOWDIM_SANITIZE=none -DCMAKE_SYSTEM_NAME=Linux \
	  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ >/dev/null
	@$(CMAKE) --build build/arm --parallel 2 >/dev/null
	@qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm/lowdim_kernel_tests
	@if command -v debootstrap >/dev/null && [ $$(id -u) = 0 ]; then \
	  $(BIN)/python -m pip install -q --disable-pip-version-check nanobind && PYTHON=$(abspath $(BIN)/python) tests/reproducible/arm.sh; \
	else echo "The digests were not compared: that needs debootstrap, which runs as root"; fi

sanitize-python: $(VENV)/.test $(CMAKE)  ## test the Python package with the extension under ASan and UBSan
	@$(call sanitized_python)

FUZZ ?= --tries 300
fuzz: $(VENV)/.test  ## attack the package at random; FUZZ="--minutes 60 --tries 100000 --only parameter"
	@$(BIN)/python tests/fuzz/adversary.py $(FUZZ)

# Builds the extension under sanitizers beside the package's Python files, and runs the tests that
# call it most. Python itself is not built for them: its own leaks at exit are not reported, and the
# sanitizer's allocator is preloaded.
define sanitized_python
rm -rf build/sanitize/python && mkdir -p build/sanitize/python
$(BIN)/python -m pip install -q --disable-pip-version-check nanobind
CXX="$(CXX)" $(CMAKE) -G "Unix Makefiles" -S . -B build/sanitize/python/build -DLOWDIM_SANITIZE=extension -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  -DPython_EXECUTABLE=$(abspath $(BIN)/python) -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >/dev/null
$(CMAKE) --build build/sanitize/python/build --target _native --parallel 2 >/dev/null
cp -r src/lowdim build/sanitize/python/lowdim && cp build/sanitize/python/build/_native*.so build/sanitize/python/lowdim/
PYTHONPATH=build/sanitize/python:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])') \
  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  $(PYTHON) -m pytest -q -x -p no:cacheprovider $(SANITIZED_TESTS)
endef
# The backend tests call every operation of the extension; those of single methods would take hours.
SANITIZED_TESTS ?= tests/backends tests/distances tests/neighbor_graphs tests/objects tests/spectral/test_isomap.py

# Builds the tests of the kernels under a sanitizer and runs them. AVX2 has the sources of "portable", so a third run
# would look at nothing else; tests/reproducible/ compares the bits of all instruction sets.
define sanitized
CXX="$(CXX)" $(CMAKE) -G "Unix Makefiles" -S . -B $(SANITIZE)-$(1) -DLOWDIM_SANITIZE=$(1) >/dev/null
$(CMAKE) --build $(SANITIZE)-$(1) --parallel 2 >/dev/null
printf '%s\n' portable avx512 | xargs -P 2 -I {} env LOWDIM_ISA={} $(SANITIZE)-$(1)/lowdim_kernel_tests
endef

# Nothing but the environment is on the path: no compiler, and only wheels are installed.
WHEEL := $(abspath build/wheel)
wheel: venv  ## build a wheel, check it, and run the README's sample with it in a clean environment without a compiler
	@rm -rf $(WHEEL) && mkdir -p $(WHEEL)
	@$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps -w $(WHEEL) .
	@size=$$(wc -c <$$(ls $(WHEEL)/lowdim-*.whl)); [ $$size -lt 3000000 ] || \
	  { echo "The wheel has $$size bytes; it should have less than 3 MB" >&2; exit 1; }
	@$(PYTHON) -m venv $(WHEEL)/audit
	@$(WHEEL)/audit/bin/python -m pip install -q --disable-pip-version-check abi3audit auditwheel
	@wheel=$$(ls $(WHEEL)/lowdim-*.whl); case $$wheel in *abi3*) $(WHEEL)/audit/bin/abi3audit --strict $$wheel;; esac
	@[ "$$(uname)" != Linux ] || $(WHEEL)/audit/bin/auditwheel show $(WHEEL)/lowdim-*.whl \
	  | grep -o 'manylinux_[0-9]*_[0-9]*_[a-z0-9_]*'
	@$(PYTHON) -m venv $(WHEEL)/venv
	@PATH=$(WHEEL)/venv/bin $(WHEEL)/venv/bin/python -m pip install -q --disable-pip-version-check \
	  --only-binary :all: "$$(ls $(WHEEL)/lowdim-*.whl)[plot]"
	@awk '/^```python/ {inside = 1; next} /^```/ && inside {exit} inside' README.md >$(WHEEL)/sample.py
	@cd $(WHEEL) && PATH=$(WHEEL)/venv/bin python sample.py && ls digits.png digits.lowdim >/dev/null
	@echo "The README's sample ran with $$(basename $(WHEEL)/lowdim-*.whl)"

bench: $(VENV)/.bench  ## compare with other libraries, as ratios in one run
	@$(BIN)/python -m benchmarks

# The engine is compiled into the site where Emscripten and Node are there; else a page says so.
docs: $(VENV)/.docs $(if $(and $(shell command -v em++),$(shell command -v npm)),wasm)  ## build the site into docs/_build/html (LOWDIM_DATA=folder adds pictures of real data)
	@$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "The site is docs/_build/html/index.html"

web: web/node_modules/.package-lock.json  ## check and build the pages of src/lowdim/web from web/ (needs Node 20)
	@cd web && npm run --silent check && npm run --silent build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "Building the pages needs Node 20 with npm, and none was found" >&2; exit 1; }
	@cd web && npm ci --silent --no-audit --no-fund

wasm: build/wasm/lowdim.wasm web/node_modules/.package-lock.json  ## compile the engine for browsers and live reports (needs Emscripten and Node 20)
	@cd web && npm run --silent wasm

# As CMakeLists.txt builds the portable kernels: without fused products and reductions of the compiler.
EMXX = em++ -std=c++20 -msimd128 -fopenmp-simd -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-exceptions \
  -Icpp/include -include cpp/wasm/bit_cast.hpp -Wall -Wextra -Wno-pass-failed -Wno-unused-private-field
# As fast as -O2 alone and a sixth smaller: the hot loops are in the kernels.
COMPACT = -mllvm -inline-threshold=25 -fno-unroll-loops -fno-vectorize -fno-slp-vectorize
build/wasm/lowdim.wasm: $(filter cpp/include/% cpp/kernels/% cpp/wasm/%,$(CPP)) Makefile
	@command -v em++ >/dev/null || { echo "make wasm needs Emscripten: sudo apt-get install emscripten" >&2; exit 1; }
	@mkdir -p $(@D)
	@$(EMXX) -O2 -c cpp/kernels/portable.cpp -o $(@D)/kernels.o
	@$(EMXX) -O2 $(COMPACT) -c cpp/wasm/engine.cpp -o $(@D)/engine.o
	@$(EMXX) -Os -c cpp/wasm/one_thread.cpp -o $(@D)/one_thread.o
	@$(EMXX) -Os -c cpp/kernels/dispatch.cpp -o $(@D)/dispatch.o
	@$(EMXX) -O2 $(addprefix $(@D)/,kernels.o engine.o one_thread.o dispatch.o) --no-entry -sSTANDALONE_WASM \
	  -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sERROR_ON_UNDEFINED_SYMBOLS=0 -sWARN_ON_UNDEFINED_SYMBOLS=0 -o $@

clean:  ## remove everything that make made, .venv included
	rm -rf $(VENV) build dist demo web/node_modules src/lowdim/web/live docs/_build docs/methods .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "lowdim needs Python 3.11 or newer; choose one with PYTHON=python3.x")'
	@$(PYTHON) -m venv $(VENV)

# Python files are used where they stand; a new install is needed for what is compiled or declared.
# What pip and CMake print is kept in a file: a page of it helps nobody who lacks a compiler.
$(VENV)/.installed: pyproject.toml CMakeLists.txt $(SOURCES) | $(BIN)/python
	@$(MAKE) -s compiler
	@echo "Installing lowdim into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[io,plot,studio]' >$(VENV)/install.log 2>&1 \
	  || { grep -iE 'error' $(VENV)/install.log | head -n 1; echo "The installation failed; see $(VENV)/install.log"; exit 1; }
	@touch $@

# The compiler that CMake will find, or one line that says how to install one on this system.
compiler:
	@for name in $(if $(filter-out default,$(origin CXX)),"$(CXX)",c++ g++ clang++); do command -v $$name >/dev/null 2>&1 && exit 0; done; \
	if   command -v apt-get >/dev/null 2>&1; then how="sudo apt-get install g++"; \
	elif command -v dnf     >/dev/null 2>&1; then how="sudo dnf install gcc-c++"; \
	elif command -v zypper  >/dev/null 2>&1; then how="sudo zypper install gcc-c++"; \
	elif command -v pacman  >/dev/null 2>&1; then how="sudo pacman -S gcc"; \
	elif command -v apk     >/dev/null 2>&1; then how="apk add g++"; \
	elif [ "$$(uname)" = Darwin ]; then how="xcode-select --install"; \
	else how="install GCC 11 or Clang 14, or newer"; fi; \
	echo "lowdim needs a C++20 compiler to be built, and none was found: $$how" >&2; exit 1

# The package is there already: these add what its extras name, and compile nothing again. Types,
# benchmarks and pictures need what the tests need: PyTorch, Dask and others.
$(VENV)/.lint $(VENV)/.bench $(VENV)/.docs: $(VENV)/.test
$(VENV)/.test: $(VENV)/.installed
$(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.docs:
	@$(BIN)/python -m pip install -q --disable-pip-version-check 'lowdim[$(patsubst .%,%,$(notdir $@))]'
	@touch $@

$(BIN)/cmake: | $(BIN)/python
	@$(BIN)/python -m pip install -q --disable-pip-version-check cmake
