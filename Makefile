# Halo Labs. `make` alone lists the targets.
#
# PY=/path/to/python   use this Python in place of .venv (it brings its own packages; nothing is
#                      installed into it)
# PYTHON3=python3.12   make .venv with this Python
# WORKERS=4            run the tests in so many processes
# OPTIONS=--no-browser options of `jupyter lab`, for make jupyter; several in quotes
# GPU=yes|no           whether to install PyCUDA into .venv; found out by nvidia-smi and nvcc when
#                      not given

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
# Packages are installed without their bytecode, and these targets start Python a hundred times:
# each would compile again what it imports.
unexport PYTHONDONTWRITEBYTECODE

PYTHON3 ?= python3
# uv, where it is installed, downloads and unpacks packages several times as fast as pip.
UV := $(shell command -v uv >/dev/null && echo uv)
comma := ,
empty :=
space := $(empty) $(empty)
ifndef GPU
GPU := $(shell nvidia-smi -L 2>/dev/null | grep -q '^GPU ' && command -v nvcc >/dev/null \
    && echo yes || echo no)
endif

ifdef PY
PYTHON := $(subst $(space),\ ,$(PY))
ENVIRONMENT := check-python
# The package is not installed in PY: its kernels and tests find it by this path.
export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))
else
# A relative path, because the folder's name may have a space.
PYTHON := .venv/bin/python
ENVIRONMENT := .venv/.installed $(if $(filter yes,$(GPU)),.venv/.pycuda)
endif

# Of tests: one more than two cores have, since a worker waits for compilers, boxes and limits
# of time.
WORKERS ?= 3
SANITIZERS := memcheck racecheck initcheck synccheck

.PHONY: help env labs test evidence golden jupyter gpu site wheel clean check-python check-gpu check-tests

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10
	@echo 'Every target takes PY=/path/to/python, an existing Python in place of .venv.'

env: $(ENVIRONMENT) ## make the environment in .venv (with PyCUDA where there are a GPU and nvcc)
	@$(PYTHON) -c 'import sys; print("Python", sys.version.split()[0], "at", sys.executable)'
ifndef PY
ifeq ($(GPU),no)
	@if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then \
	    echo 'No NVIDIA GPU found: PyCUDA is left out, the labs run in the simulator.'; \
	elif ! command -v nvcc >/dev/null; then \
	    echo 'There is a GPU, but nvcc is not on the PATH: PyCUDA is left out, the labs run in the simulator.'; \
	    echo 'Install the CUDA toolkit (nvcc is often in /usr/local/cuda/bin: add that to PATH), then: make env'; \
	else \
	    echo 'GPU=no: PyCUDA is left out, the labs run in the simulator.'; \
	fi
endif
endif

labs: $(ENVIRONMENT) ## run every lab; results/ gets the notebooks, records and figures
	$(PYTHON) -m helpers.tools.run_labs

# Without a GPU on purpose: the same test everywhere. `make gpu` is the other half. mypy needs
# one core and pytest waits now and then, so that both run at once. A worker takes a module, or
# a lab, when it has finished one; tests/conftest.py puts long modules first.
test: export LAB_DEVICE := simulator
test: check-tests $(ENVIRONMENT) ## ruff, mypy, pytest, and nbval on every lab, all in the simulator
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy & types=$$!; \
	    $(PYTHON) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -p tests.labs.nbval_count \
	        --nbval-lax --nbval-current-env --nbval-cell-timeout 600 --ignore=tests/evidence \
	        tests labs; tested=$$?; \
	    wait $$types && exit $$tested

# What makes the records of data/measured is no part of what a user meets, so `make test` leaves it
# out, and a change of evidence/ asks for this. It runs every night.
evidence: export LAB_DEVICE := simulator
evidence: check-tests $(ENVIRONMENT) ## the tests of evidence/, which makes the records; without a GPU
	$(PYTHON) -m pytest -n $(WORKERS) --dist loadfile tests/evidence

golden: export LAB_DEVICE := simulator
golden: check-tests $(ENVIRONMENT) ## write tests/golden anew: what the product says of every answer, kernel and lab
	$(PYTHON) -m tests.golden

jupyter: $(ENVIRONMENT) ## make your own copies of the labs in my_labs/, and open JupyterLab there
	$(PYTHON) -m helpers.jupyterlab $(OPTIONS)

# compute-sanitizer slows a kernel down by 10 to 100 times, so it runs the tests whose names
# hold "sanitize": each launches every kernel once, at sizes that leave a partial block.
# initcheck does not see what a bulk copy writes, and reports every output of the kernels that
# use one; the test itself checks that all are written.
gpu: export LAB_DEVICE := gpu
gpu: check-tests check-gpu $(ENVIRONMENT) ## what needs a GPU: its tests, counters beside Nsight Compute, compute-sanitizer over every kernel
	$(PYTHON) -m pytest -m gpu tests
	$(PYTHON) -m evidence.counters tests/simulator/counters
	$(PYTHON) -m evidence.sanitizer run tests/simulator/corpus --record results/sanitizer.json
	for tool in $(SANITIZERS); do \
	    echo "compute-sanitizer: $$tool"; \
	    only=sanitize; if [ $$tool = initcheck ]; then only='sanitize and not bulk_copies'; fi; \
	    compute-sanitizer --tool $$tool --error-exitcode 1 \
	        $(PYTHON) -m pytest -m gpu -k "$$only" tests || exit 1; \
	done

site: $(ENVIRONMENT) $(if $(PY),,.venv/.site) ## a static website from the executed labs, in results/site
	$(PYTHON) -m helpers.tools.website

wheel: $(ENVIRONMENT) ## compile the simulator's engine into a wheel in dist/, for computers without a C++ compiler
	$(PYTHON) -m helpers.tools.wheel

clean: ## remove results/ and caches (.venv stays)
	rm -rf results build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -print0 | xargs -0 rm -rf

check-gpu:
	@nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || { \
	    echo 'make gpu: no NVIDIA GPU here (nvidia-smi lists none), so nothing was run.'; \
	    echo 'The labs and `make test` do without one: they use the simulator.'; exit 1; }
	@for tool in nvcc ncu compute-sanitizer; do command -v $$tool >/dev/null || { \
	    echo "make gpu: $$tool is not on the PATH. It is part of the CUDA toolkit, often in /usr/local/cuda/bin."; exit 1; }; done

check-tests:
	@[ -d tests ] || { \
	    echo 'This copy of Halo Labs was made for a course: it has no tests.'; \
	    echo 'To check your answers to a lab: $(PYTHON) -m helpers.course check my_labs/NAME.ipynb'; exit 1; }

# $(1): a Python. Says what is wrong when there is none or it is too old.
require_python = command -v "$(1)" >/dev/null || { echo "There is no $(1) here. $(2)"; exit 1; }; \
    "$(1)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
    echo "$(1) is $$("$(1)" -V 2>&1): Halo Labs needs Python 3.11 or newer. $(2)"; exit 1; }

# pip installs nothing into a Python that belongs to the system, as on Debian, but into its
# environments.
takes_packages = import os, sys, sysconfig; sys.exit(sys.prefix == sys.base_prefix and \
    os.path.exists(sysconfig.get_path("stdlib") + "/EXTERNALLY-MANAGED"))
check-python:
	@$(call require_python,$(PY),Give another by PY=/path/to/python.)
	@"$(PY)" -c 'import sys; from importlib.util import find_spec; \
	    sys.exit(not all(map(find_spec, ("numpy", "jupyterlab", "nbclient", "matplotlib"))))' || { \
	    echo "$(PY) lacks packages of Halo Labs. Leave PY out, and make installs them into .venv."; \
	    if "$(PY)" -c '$(takes_packages)'; then \
	        echo "Or: $(PY) -m pip install -e '$(CURDIR)[test]'"; fi; exit 1; }

.venv/bin/python:
	@$(call require_python,$(PYTHON3),Install one$(comma) or name it: make env PYTHON3=/path/to/python3.12)
	@mkdir -p .venv 2>/dev/null || { echo 'The folder $(CURDIR) cannot be written: copy it to one that can, and type make there.'; exit 1; }
	@$(PYTHON3) -m venv .venv || { rm -rf .venv; \
	    echo 'Python could not make .venv. On Debian and Ubuntu: sudo apt install python3-venv, then again.'; exit 1; }

# $(1): options and packages. What is long to fetch is named; if uv fails, for example because only
# pip is configured for a mirror, pip does it.
install = $(if $(UV),uv pip install --quiet --python $(PYTHON) $(1) || { \
    echo 'uv failed for the reason above; pip installs instead.'; $(call by_pip,$(1)); },$(call by_pip,$(1)))
by_pip = (set -o pipefail; $(PYTHON) -m pip install --no-compile --progress-bar off $(1) \
    | sed -unE 's/^ *(Downloading|Using cached) ([^ -]+)-.* \(([0-9]{2,})[.0-9]* MB.*/  \2, \3 MB/p; s/^Installing collected .*/  unpacking/p')

# One core unpacks packages, so another builds the simulator's machine meanwhile; that needs the
# few packages of BUILD only. If it cannot be built, the reason is printed; the environment is made
# all the same, and the first launch says it again. Python compiles modules when they are first
# imported: most of these never are. A newer pip than that of the Python finds and unpacks the
# packages in three quarters of the time. The installation copies what JupyterLab is given, so that
# a change there needs another one.
BUILD := numpy platformdirs pyelftools
build_simulator = $(PYTHON) -c 'import sys; sys.tracebacklimit = 0; \
    from helpers.simulator.machine import library; library.build()'
JUPYTERLAB := $(shell find helpers/jupyterlab/etc helpers/jupyterlab/share -type f 2>/dev/null)
.venv/.installed: pyproject.toml $(JUPYTERLAB) | .venv/bin/python
	@echo 'Installing packages into .venv (1.2 GB): about 4 minutes, or 1 where the registry is near.'
	@$(call install,--upgrade pip $(BUILD))
	@$(build_simulator) & \
	    $(call install,--editable '.[test]'); installed=$$?; \
	    if [ -n "$$(jobs -r)" ]; then echo 'Still compiling the simulator, once: about a minute.'; fi; \
	    wait; exit $$installed
	@touch $@

.venv/.pycuda: .venv/.installed
	@echo 'Building PyCUDA: about a minute.'
	@$(call install,--editable '.[gpu]') || { \
	    echo; echo 'PyCUDA could not be built, see above. INSTALL.md, "Troubleshooting", has the usual causes.'; \
	    echo 'To go on without it, in the simulator: add GPU=no to the command, as in: make labs GPU=no'; exit 1; }
	$(PYTHON) -c 'import pycuda.driver; pycuda.driver.init()' || { \
	    echo; echo 'PyCUDA was built but does not start, see above. INSTALL.md, "Troubleshooting", has the usual causes.'; \
	    echo 'To go on without it, in the simulator: add GPU=no to the command, as in: make labs GPU=no'; exit 1; }
	@touch $@

.venv/.site: .venv/.installed
	@echo 'Installing the packages of the website into .venv.'
	@$(call install,--editable '.[site]')
	@touch $@
