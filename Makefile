# Everything goes through one virtual environment; `make help` lists the targets.
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: sim help env check lint test parity peer testbed manifests demo bench clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

env: $(STAMP) ## make the virtual environment with Ray and all tools

$(STAMP): pyproject.toml
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

peer: env ## build KubeRay's released operator, for the tests of taking over and handing back, into the same cache
	$(PY) -m testbed.peer

testbed: env ## build a Kubernetes control plane for the tests, once, into a cache outside the tree
	$(PY) testbed/build.py

manifests: env ## write deploy/*.yaml anew
	$(PY) -m deploy.generate

lint: env ## ruff, import contracts, mypy --strict on the pure packages
	$(VENV)/bin/ruff check rayfleet tests bench testbed deploy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy --strict rayfleet/api rayfleet/planning rayfleet/resources rayfleet/raycluster rayfleet/rayjob rayfleet/raycronjob rayfleet/rayservice rayfleet/legacy rayfleet/diagnosis rayfleet/ray/answer.py rayfleet/ray/jobs.py rayfleet/ray/serve.py rayfleet/autoscaling/decide.py rayfleet/scheduling/decide.py rayfleet/scheduling/loss.py rayfleet/scheduling/garbage.py

check: lint ## the quick subset for work in progress
	$(PY) -m pytest -m 'not ray and not namespaces and not testbed' --durations=5

test: env testbed ## everything, with each part's share of the time
	$(PY) tests/run_parts.py

SEEDS ?= 5000
KIND ?= clusters
sim: env ## any number of storms on all processors: make sim SEEDS=N KIND=clusters|jobs|services|cronjobs|hosted
	$(PY) -m rayfleet.sim.many $(SEEDS) 0 12 $(KIND)

parity: env ## every kind against what KubeRay was recorded to make of it; a table at the end
	$(PY) -m pytest tests/parity

demo: env ## two real Ray clusters on this machine, from YAML
	$(PY) -m rayfleet.cli.demo

bench: env ## every figure of docs/benchmarks.md
	$(PY) -m bench

clean: ## remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
