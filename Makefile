# railyard. `make help` lists what can be made; `make demo` and `make test` do all the set-up they need.

# make setup PYTHON=/path/of/python3.11 MPICC=cc WHEELS=folder, where these are not found by themselves.
PYTHON ?= $(shell tools/find-python 2>/dev/null)
MPICC  ?= $(or $(RAILYARD_MPI:%=%/bin/mpicc),$(shell tools/find-mpicc))
# What is built of the simulated torus: all of it where SimGrid is installed.
SIMGRID   := build/lib/railyard-simgrid.so build/benchmarks-simgrid/bin/halo
SIMULATED := $(if $(shell command -v smpicc),$(SIMGRID))
# Debian has a wrapper for each MPI, and root installs Open MPI's; any other machine has the one that MPICC names. That of
# RAILYARD_MPI=FOLDER takes the place of both.
APT    := $(shell command -v dpkg-query)
ROOT   := $(filter 0,$(shell id -u))
DEBIAN := $(if $(or $(shell command -v mpicc.openmpi),$(and $(APT),$(ROOT))),openmpi) $(if $(shell command -v mpicc.mpich),mpich)
MPIS   := $(or $(RAILYARD_MPI:%=site),$(strip $(DEBIAN)),$(if $(MPICC),site))
# Those of `make mpis` whose benchmarks exist: `make setup` keeps these up to date.
WHEEL_MPIS := $(foreach mpi,openmpi5 mpich5,$(if $(and $(wildcard build/mpis/bin/mpicc.$(mpi)),$(wildcard build/benchmarks-$(mpi))),$(mpi)))

VENV    := .venv
BIN     := $(VENV)/bin
DOCS    := build/docs-venv/bin
# Without a network: wheels that `make wheels` filled elsewhere, or that were carried to a site (containers/carry).
WHEELS  ?= $(firstword $(wildcard wheelhouse build/carried/wheels))
FROM    := $(if $(WHEELS),--no-index --find-links "$(WHEELS)")
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(FROM)
# How the packages of a list get into the virtual environment: `make setup` installs requirements.txt, which runs railyard.
INSTALL := WHEELS="$(WHEELS)" tools/install-python-packages $(VENV)
DEVELOP := requirements-dev.txt
# Python keeps what it compiled: the tests start railyard and ReFrame hundreds of times. An empty value is like none.
export PYTHONDONTWRITEBYTECODE :=
# Python's packages are installed while programs compile, and before, where Python can make its environment without system packages.
PARALLEL = $(if $(findstring -j,$(MAKEFLAGS)),,-j 2)
ENSUREPIP = $(if $(shell $(PYTHON) -c 'import ensurepip' 2>/dev/null && echo yes),,$(STAMPS)/packages)
STAMPS  := build/stamps

BENCHMARKS := CMakeLists.txt benchmarks/CMakeLists.txt $(wildcard benchmarks/*/*.[ch] benchmarks/*/*/*.[ch])
HELPERS    := $(patsubst %,build/bin/railyard-%,enter counters router) $(patsubst %,build/lib/railyard-%.so,fence idle refine)

C_FILES     := git ls-files '*.c' '*.h' '*.cpp' '*.hpp'
CMAKE_LIST  := tools/requirements-cmake.txt
SHELL_FILES := git grep -lE --max-depth 9 '^\#!.*/(env )?(ba)?sh' -- ':!tests/data' ':!*.py' ':!*.md' ':!*.c' ':!Makefile' ':!*.def'

PACKAGES        := cmake gcc iproute2 libc6-dev libopenmpi-dev make openmpi-bin procps python3-venv util-linux
SIM_PACKAGES    := g++ libsimgrid-dev
TEST_PACKAGES   := chromium cppcheck docker-registry gfortran iputils-ping libmpich-dev mpich munge openssh-server slurm-client slurmctld slurmd $(SIM_PACKAGES)
DOCKER_PACKAGES := docker.io

.DELETE_ON_ERROR:
.PHONY: help dev links missing-helpers setup set-up wheels simulated mpich mpis image parquet apptainer spack sif demo tender-demo smoke check test unit quick quick-list test-lint test-builds test-image test-sif node-image lint lint-workflows docs tables release analyze fuzz format bench clean simulated-tools test-tools docker-tools

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup:  ## install what railyard needs, build the benchmarks
	@$(MAKE) --no-print-directory $(PARALLEL) set-up
	@tools/check-venv $(VENV)
	@[ -n "$(strip $(MPIS))" ] || echo "no MPI compiler wrapper here: load a module and run make setup again, or give MPICC=cc"
	@PATH=$$PATH:build/apptainer/bin command -v apptainer >/dev/null || \
	    echo "no Apptainer here: \`make apptainer\` installs one into the checkout, without root"

set-up: $(STAMPS)/packages $(STAMPS)/venv $(HELPERS) $(patsubst %,build/benchmarks-%/bin/halo,$(MPIS) $(WHEEL_MPIS)) $(SIMULATED)

wheels:  ## download Python packages into wheelhouse/, for `make setup` and `make docs` without a network (DEV=yes: all)
	@PYTHON="$(PYTHON)" tools/find-python >/dev/null
	for list in requirements.txt docs/requirements.txt $(CMAKE_LIST) $(if $(DEV),$(DEVELOP)); do \
	    $(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes -r $$list -d wheelhouse || exit 1; \
	done

simulated: setup  ## install SimGrid, build the simulated torus (make setup does where SimGrid is there)
	@$(MAKE) --no-print-directory simulated-tools
	@$(MAKE) --no-print-directory $(SIMGRID)

mpich: setup test-tools
	@$(MAKE) --no-print-directory build/benchmarks-mpich/bin/halo

mpis: setup  ## Open MPI 5, MPICH 5 and Intel MPI from their wheels into build/mpis, and benchmarks for the first two
	@tools/mpis build/mpis
	@$(MAKE) --no-print-directory build/benchmarks-openmpi5/bin/halo build/benchmarks-mpich5/bin/halo

image: setup node-image  ## build the image of a node for the torus engine docker, and install Python's docker
	@$(INSTALL) $(DEVELOP) docker

parquet: $(STAMPS)/venv  ## polars (180 MB), for `railyard results export` and ReFrame's --performance-compare
	@$(INSTALL) $(DEVELOP) polars polars-runtime-32

node-image: docker-tools
	tools/with-docker containers/build-image node

apptainer: $(STAMPS)/packages  ## Apptainer, without root, into build/apptainer, where none is installed
	@tools/install-apptainer

spack: $(STAMPS)/packages  ## Spack, into build/tools/spack (SPACK=FOLDER or git URL: from there)
	@[ "$$(id -u)" -ne 0 ] || tools/need-packages --or cc liblapack-dev  # hypre's, of the committed locks
	@tools/install-spack $(SPACK)

sif: apptainer  ## build build/image/railyard.sif, the Apptainer image of the benchmarks
	containers/build-image benchmarks

demo:  ## the main job: measure a virtual Gemini torus and a simulated one, write records and report.html
	@$(MAKE) --no-print-directory setup
	@tools/demo

tender-demo: $(STAMPS)/venv  ## verify and rank three example bids, write the page for a board (some seconds; measures nothing)
	@tools/tender-demo

smoke: setup  ## smoke checks on a virtual torus, for CI (tools/smoke lists variables such as BASELINE=FOLDER)
	tools/smoke

docs: $(STAMPS)/venv $(STAMPS)/docs-venv  ## build the site, with its reference and manual page, into build/site
	$(BIN)/python -m railyard.reference docs/reference
	$(DOCS)/sphinx-build --quiet --fail-on-warning --keep-going -b html -d build/doctrees docs build/site
	$(BIN)/railyard report --quiet -o build/site/sample-report.html results/example
	tools/tender-demo >/dev/null && cp build/tender-demo/page.html build/site/sample-tender.html
	$(DOCS)/sphinx-build --quiet --fail-on-warning --keep-going -b man -d build/doctrees docs build/man
	@echo "the site: build/site/index.html, the manual page: build/man/railyard.1"

tables: $(STAMPS)/venv  ## write the tables of docs/placements.md and the pictures of README.md anew
	$(BIN)/python -m railyard.reference --tables

release: docs  ## source archive, the wheel that reads, site, checksums and SBOM of the committed version, into build/release (TAG=vX.Y.Z: must fit)
	PATH="$(CURDIR)/$(BIN):$(CURDIR)/$(DOCS):$$PATH" tools/release $(TAG)

check:  ## lint, types, and the quick tests, which need neither root, MPI nor a compiler; needs Python 3.11 and git alone
	@$(call side_by_side,2,quick test-lint)

test: $(STAMPS)/packages  ## all tests, on real namespaces, containers, MPIs and SimGrid
	@$(call side_by_side,4,unit test-lint test-builds test-image test-sif)
	$(BIN)/python -m pytest -q -m "not unit" -n 4 --dist loadfile --no-loadscope-reorder --durations 25

# The unit tests run beside lint and beside what the other tests need, which waits for packages half of its time. The output
# of these goes into files. The end of one that failed is printed last: what failed is always the last thing on the screen.
side_by_side = rm -rf build/tests; $(MAKE) --no-print-directory -j $(1) $(2) || { cat build/tests/*.failed 2>/dev/null; exit 1; }
beside = mkdir -p build/tests; echo "beside the unit tests: $(1); output: build/tests/$@.log"; \
    if ( $(2) ) >build/tests/$@.log 2>&1; then exit 0; fi; \
    { printf '\n%s failed; build/tests/%s.log ends:\n' $@ $@; tail -n 30 build/tests/$@.log; } >build/tests/$@.failed; exit 1

unit: $(STAMPS)/develop  ## all unit tests
	$(BIN)/python -m pytest -q -m unit -n auto

quick: $(STAMPS)/develop  ## the unit tests that take at most half a second, while you edit
	$(BIN)/python -m pytest -q -m quick -n auto

quick-list: $(STAMPS)/develop
	$(BIN)/python -m pytest -q -m unit -n auto --slow-list

dev: $(STAMPS)/develop  ## install what tests, linters and `python -m perf` need

test-lint: $(STAMPS)/develop
	@$(call beside,lint and types,$(MAKE) lint)

test-builds: $(STAMPS)/develop
	@$(call beside,benchmarks for every MPI,$(MAKE) test-tools && $(MAKE) setup analyze mpis)

test-image:
	@$(call beside,the image of a node,$(MAKE) node-image)

test-sif:
	@$(call beside,the image for Apptainer,$(MAKE) sif)

lint: $(STAMPS)/develop  ## ruff, mypy --strict, clang-format, shellcheck, yamllint, hadolint, zizmor, codespell
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$($(C_FILES))
	$(BIN)/shellcheck --severity warning $$($(SHELL_FILES))
	$(BIN)/yamllint --strict $$(git ls-files '*.yml' '*.yaml' ':!reframe.yml' ':!results/trust.yml' ':!tests/data' ':!config')
	$(BIN)/hadolint --ignore DL3008 --failure-threshold warning $$(git ls-files 'containers/Dockerfile*')
	$(BIN)/zizmor --offline --quiet .github action.yml
	$(BIN)/codespell $$(git ls-files ':!tests/data' ':!results/example' ':!results/tender-example' ':!*requirements*.txt' ':!*.svg' ':!*.lock')

lint-workflows: $(STAMPS)/develop  ## actionlint over the workflows; compiled by Go where it is not installed
	actionlint=$$(tools/install-actionlint) && $$actionlint -shellcheck $(BIN)/shellcheck

links: $(STAMPS)/venv $(STAMPS)/docs-venv  ## ask for every external link of the site; needs the internet, so a workflow does it once a week
	$(BIN)/python -m railyard.reference docs/reference
	$(DOCS)/sphinx-build --quiet --keep-going -b linkcheck -d build/doctrees docs build/links

analyze: test-tools  ## cppcheck over the C and C++ sources
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 \
	    --suppress=missingIncludeSystem --inline-suppr -I benchmarks $$(git ls-files '*.c')
	cppcheck --quiet --std=c++17 --language=c++ --enable=warning,performance,portability --error-exitcode=1 \
	    --suppress=missingIncludeSystem --inline-suppr $$(git ls-files '*.cpp')

fuzz: setup  ## libFuzzer over the readers of the C programs, MINUTES=10 each; needs clang (CLANG=clang-19: another name)
	tools/fuzz $(or $(MINUTES),10)

format: $(STAMPS)/develop  ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format
	$(BIN)/clang-format -i $$($(C_FILES))

bench: $(STAMPS)/develop setup  ## five to ten minutes: what a person waits for, against this machine's last states; ACCEPT=yes: the new level
	$(BIN)/python -m perf $(if $(ACCEPT),--accept)

clean:  ## remove everything that is made, the records and the report excepted
	rm -rf build $(VENV) stage output perflogs *.egg-info reframe.log .mypy_cache .ruff_cache .pytest_cache .hypothesis

# What the targets above stand on. --------------------------------------------------------------------------------------

$(STAMPS)/packages: Makefile
	@tools/need-packages --or cc,make $(PACKAGES)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/venv: requirements.txt pyproject.toml tools/install-python-packages | $(ENSUREPIP)
	@PYTHON="$(PYTHON)" tools/find-python >/dev/null
	@$(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment; run: apt-get install python3-venv, or make setup PYTHON=..." >&2; exit 1; }
	@$(INSTALL) requirements.txt
	@PYTHONWARNINGS=ignore $(PIP) --no-deps --no-build-isolation --config-settings editable_mode=compat -e .
	@mkdir -p $(@D) && touch $@

# What develops railyard: the packages above, tests, linters, types.
$(STAMPS)/develop: $(DEVELOP) $(STAMPS)/venv
	@$(INSTALL) $(DEVELOP)
	@mkdir -p $(@D) && touch $@

# The machine's own where it is new enough; otherwise a wheel.
$(STAMPS)/cmake: $(CMAKE_LIST) $(STAMPS)/packages $(shell tools/cmake --version >/dev/null 2>&1 || echo $(STAMPS)/venv)
	@tools/cmake --version >/dev/null 2>&1 || $(PIP) --require-hashes -r $(CMAKE_LIST)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/docs-venv: docs/requirements.txt
	@PYTHON="$(PYTHON)" tools/find-python >/dev/null
	@$(PYTHON) -m venv $(DOCS:/bin=)
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check $(FROM) --require-hashes -r docs/requirements.txt
	@mkdir -p $(@D) && touch $@

# One CMake project: $(call compile,FOLDER,OPTIONS) makes parts of it with one compiler. Warnings of the compiler are printed,
# progress of CMake is not. A folder that another checkout or another version of this one filled is made anew.
compile = { grep -qsx 'CMAKE_HOME_DIRECTORY:INTERNAL=$(realpath .)' $(1)/CMakeCache.txt || rm -rf $(1); } && \
    tools/cmake -S . -B $(1) $(2) -DCMAKE_BUILD_TYPE=Release -DCMAKE_RULE_MESSAGES=OFF -DCMAKE_TARGET_MESSAGES=OFF \
    --log-level=WARNING >/dev/null && MAKEFLAGS= tools/cmake --build $(1) --parallel 2 -- --no-print-directory -s && touch $@
OUTPUT := -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$(CURDIR)/build/bin" -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$(CURDIR)/build/lib"

# One recipe makes all helpers. It also runs where one of them is missing, as after a kill.
$(firstword $(HELPERS)): CMakeLists.txt $(wildcard railyard/torus/native/*.[ch] railyard/torus/native/*/*.[ch]) railyard/placements/orders/refine.c $(STAMPS)/packages $(if $(filter-out $(wildcard $(HELPERS)),$(HELPERS)),missing-helpers) | $(STAMPS)/cmake
	@echo "compiling the helpers of tori and launches"
	@$(call compile,build/helpers,-DRAILYARD_PARTS=helpers -DCMAKE_C_FLAGS_RELEASE=-O2 $(OUTPUT))

$(wordlist 2,9,$(HELPERS)): $(firstword $(HELPERS)) ;

missing-helpers:

build/benchmarks-openmpi5/bin/halo build/benchmarks-mpich5/bin/halo: export PATH := $(CURDIR)/build/mpis/bin:$(PATH)
build/benchmarks-%/bin/halo: $(BENCHMARKS) $(STAMPS)/packages | $(STAMPS)/cmake
	@echo "compiling the benchmarks with mpicc.$*"
	@$(call compile,build/benchmarks-$*,-DMPI_C_COMPILER=mpicc.$*)

build/benchmarks-site/bin/halo: $(BENCHMARKS) $(STAMPS)/packages | $(STAMPS)/cmake
	@echo "compiling the benchmarks with $(MPICC)"
	@$(call compile,build/benchmarks-site,-DCMAKE_C_COMPILER=$(MPICC))

build/benchmarks-simgrid/bin/halo: $(BENCHMARKS) $(STAMPS)/packages | $(STAMPS)/cmake
	@echo "compiling the benchmarks with smpicc, for SimGrid"
	@$(call compile,build/benchmarks-simgrid,-DCMAKE_C_COMPILER=smpicc -DRAILYARD_HOST_FROM_MPI=ON)

build/lib/railyard-simgrid.so: CMakeLists.txt $(wildcard railyard/torus/simulated/simgrid/*) $(STAMPS)/packages | $(STAMPS)/cmake
	@echo "compiling railyard's part of SimGrid"
	@$(call compile,build/simgrid,-DRAILYARD_PARTS=simgrid $(OUTPUT))

simulated-tools: $(STAMPS)/packages
	@tools/need-packages $(SIM_PACKAGES)

docker-tools: $(STAMPS)/packages
	@command -v dockerd >/dev/null || docker version >/dev/null 2>&1 || tools/need-packages $(DOCKER_PACKAGES)

test-tools: $(STAMPS)/packages
	@tools/need-packages $(TEST_PACKAGES)
