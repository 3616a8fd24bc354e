# Both commands make their own virtual environment and install what they need, pinned.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check install browser gl clean

demo: install
	$(BIN)/cogmap demo

test: install browser gl
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

install: $(VENV)/installed

# torch first and pinned: asked for in any other way it may bring gigabytes of CUDA libraries.
$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || \
	  { echo "make: needs Python 3.11 or 3.12; say PYTHON=python3.12 make $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[ogbench,report,ray,web,gym,exchange,track,scenes,dev]'
	@touch $@

# Pictures of mazes need a GL library; without one those tests fail with the package's name.
gl:
	@dpkg -s libegl1 libgl1-mesa-dri > /dev/null 2>&1 || { \
	  root=""; test "$$(id -u)" = 0 || root="sudo -n"; \
	  echo "make: installing libegl1 and libgl1-mesa-dri for pictures"; \
	  { $$root apt-get -qq update && $$root apt-get -qq install --no-install-recommends -y \
	      libegl1 libgl1-mesa-dri; } > /dev/null 2>&1 || \
	    echo "make: could not; install libegl1 and libgl1-mesa-dri yourself"; }

# The page is tested in Debian's Chromium; without it those tests are skipped.
browser:
	@command -v chromium > /dev/null || { \
	  root=""; test "$$(id -u)" = 0 || root="sudo -n"; \
	  echo "make: installing chromium for the tests of the page"; \
	  { $$root apt-get -qq update && $$root apt-get -qq install --no-install-recommends -y chromium; } \
	    > /dev/null 2>&1 || \
	    echo "make: could not; install chromium yourself to test the page, the other tests run without"; }

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
