# make demo    set up, and watch a conversation being guarded       make test    set up, and run the tests (ALL=1: the long ones too)
# make check   format, lint, types, layers, shortcuts in the data   make bench   speed and memory, measured
# make docs    write the pages that come from the code              make bench-peers   model judges, next to four others
# make picture draw the README's picture from the demo              make bench-load    the proxy under load, about a quarter of an hour
# make dashboard   the dashboard, filled with the demo's conversations as they are held       make docs-pictures   the dashboard's pictures
# make challenge   minimal pairs written by hand, by phenomenon (development half)       make paper-tables   the paper's tables, recomputed
# make lock    write the locks in requirements/ anew: the newest versions that pyproject.toml allows
# make test-oldest   graph and integrations with the oldest LangGraph allowed
# make real-model GGUF=FILE   a real language model as judge, decomposer, generator and assistant (hours; or URL=… MODEL=…)
# make test-plugins   with the tools beside it (DeepEval, NeMo Guardrails, Helm, …), each in an environment of its own       make docs-site   the documentation as a website
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A broken half-made environment must not pass for a finished one: the stamps are written last.
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
# The weights are two packages of their own, which the code requires in one exact version.
PROJECTS := pyproject.toml weights/pyproject.toml reader/pyproject.toml
# What the locks name, with their hashes, and nothing else: no resolver runs. uv is about ten times as fast as pip; `make UV= …`
# takes pip, for an index that only pip's configuration names.
UV := uv
INSTALLER = $(BIN)/$(if $(UV),uv pip install -q --python $(BIN)/python,pip install -q --disable-pip-version-check) --no-deps
LOCKED = $(INSTALLER) --require-hashes -r
OURS = $(INSTALLER) -e ./weights -e ./reader -e .
# A lock of which an index has lost a file, or that uv cannot reach, stops nobody: pip then takes what pyproject.toml allows.
comma := ,
ANEW = (echo "the lock $(1) cannot be installed; pip resolves anew" && $(BIN)/pip install -q --disable-pip-version-check -e ./weights -e ./reader -e '.$(2)')

.PHONY: demo dashboard docs-pictures test check format bench bench-load bench-peers real-model challenge paper-tables docs docs-site picture test-oldest test-plugins test-guardrails-ai test-promptfoo clean

demo: $(BASE)
	$(BIN)/vista-guard demo

dashboard: $(BASE)
	$(LOCKED) requirements/dashboard.txt
	$(BIN)/vista-guard dashboard --demo

# The tests start some hundred processes: each would compile the package for itself. And pytest would compile it once more in
# each worker, with rewritten assertions, as it does with every package that it finds a plugin in (this one has one): so the
# plugins that the tests need are named. Workers share the cores: more threads within one only compete.
# Tests of browsers, processes and hostile files take as long as all others together: `make test ALL=1` runs them too.
test: $(DEV)
	@$(BIN)/python -m compileall -q -j 0 vista_guard vista_lab
	OMP_NUM_THREADS=1 $(BIN)/pytest $(if $(ALL),,-m "not long") --disable-plugin-autoload -p xdist.plugin -p pytest_asyncio.plugin -p pytest_socket \
		-p pytest_rerunfailures -p _hypothesis_pytestplugin -n 4 --dist loadfile --no-loadscope-reorder

test-oldest: .venv-oldest/.made
	.venv-oldest/bin/python -m pytest -q tests/graph tests/integrations/langgraph tests/integrations/langchain

.venv-oldest/.made: $(PROJECTS)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -e ./weights -e ./reader -e '.[dev]' langgraph==1.2.0 langchain-core==1.4.0
	touch $@

# Tools whose dependencies do not go together with the others', nor with each other's: an environment each.
PLUGINS := deepeval deploy inspect litellm nemo ragas

test-plugins: $(PLUGINS:%=.venv-plugins/%/.made) test-guardrails-ai
	set -e; for tool in $(PLUGINS); do \
		.venv-plugins/$$tool/bin/python -m pytest -q tests/plugins/$$tool -o filterwarnings=default; \
	done
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory test-promptfoo; \
	else echo "promptfoo was not tried: it needs Node, and npm is not installed"; fi

.venv-plugins/%/.made: tests/plugins/%/requirements.txt $(PROJECTS)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $< hypothesis pytest pytest-asyncio pytest-rerunfailures pytest-socket
	touch $@

# It wants an older typer than our commands, so it asks a proxy.
test-guardrails-ai: $(DEV) .venv-plugins/guardrails_ai/.made
	VISTA_GUARD_GUARDRAILS_AI=$(CURDIR)/.venv-plugins/guardrails_ai/bin/python \
		$(BIN)/python -m pytest -q tests/plugins/guardrails_ai

# It runs on Node and goes together with everything.
test-promptfoo: $(DEV) .venv-plugins/promptfoo/.made
	VISTA_GUARD_PROMPTFOO=$(CURDIR)/.venv-plugins/promptfoo/node_modules/.bin/promptfoo \
		$(BIN)/python -m pytest -q tests/plugins/promptfoo

.venv-plugins/promptfoo/.made: tests/plugins/promptfoo/package.json
	mkdir -p $(@D)
	cp $< $(@D)
	npm install --prefix $(@D) --silent --no-audit --no-fund
	touch $@

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m training.shortcuts --generate 16000

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV)
	$(BIN)/python -m benchmarks

bench-load: $(DEV)
	$(BIN)/python -m benchmarks.load

# Each peer has an environment of its own: their dependencies do not agree with each other.
PEERS := deepeval ragas nemoguardrails openai_guardrails

bench-peers: $(DEV) $(PEERS:%=.venv-peers/%/.made)
	$(BIN)/python -m benchmarks.peers

.venv-peers/%/.made: benchmarks/peers/requirements-%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	touch $@

# A model of your own: GGUF=FILE, which llama.cpp's server reads, or URL=… MODEL=…
real-model: $(DEV)
	$(if $(GGUF),$(BIN)/pip install -q --disable-pip-version-check xllamacpp)
	$(BIN)/python -m benchmarks.real_model --out build/real/$(or $(MODEL),$(basename $(notdir $(GGUF)))) \
		$(if $(GGUF),--gguf $(GGUF),--url $(URL) --model $(MODEL))

docs: $(DEV)
	$(BIN)/python -m tools.pages

# The website in build/site. Nothing is fetched while it builds.
docs-site: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

challenge: $(DEV)
	$(BIN)/python -m training.suites.challenge

paper-tables: $(DEV)
	$(BIN)/python -m training.papers.tables

docs-pictures: $(DEV)
	$(BIN)/python -m tools.pictures

picture: $(DEV)
	$(BIN)/python -m tools.picture

$(VENV)/.made: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit("vista-guard needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(if $(UV),-$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/uv.txt)
	touch $@

$(BASE): $(VENV)/.made $(PROJECTS) requirements/base.txt
	($(LOCKED) requirements/base.txt && $(OURS)) || $(call ANEW,requirements/base.txt,)
	touch $@

$(DEV): $(VENV)/.made $(PROJECTS) requirements/dev.txt
	($(LOCKED) requirements/dev.txt && $(OURS)) || $(call ANEW,requirements/dev.txt,[dev])
	touch $(BASE) $@

$(VENV)/.docs: $(VENV)/.made $(PROJECTS) requirements/docs.txt
	($(LOCKED) requirements/docs.txt && $(OURS)) || $(call ANEW,requirements/docs.txt,[docs])
	touch $@

# Too large for everybody who runs the tests: those of clusters are skipped without it.
ray: $(DEV)
	$(LOCKED) requirements/ray.txt || $(call ANEW,requirements/ray.txt,[dev$(comma)ray])

# One version of each library everywhere, so all others follow dev's. Not our own packages, which are built from here.
COMPILE = $(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" \
	--no-emit-package vista-guard --no-emit-package vista-guard-reader --no-emit-package vista-guard-weights
OF = $(COMPILE) pyproject.toml -c requirements/dev.txt $(1:%=--extra %)

.PHONY: lock ray
lock: $(VENV)/.made
	$(COMPILE) pyproject.toml --extra dev --extra bench -o requirements/dev.txt
	$(call OF,) -o requirements/base.txt
	$(call OF,docs) -o requirements/docs.txt
	$(call OF,dev bench ray) -o requirements/ray.txt
	$(call OF,chroma-client documents model otel postgres proxy) -o requirements/proxy.txt
	$(call OF,dashboard postgres) -o requirements/dashboard.txt
	$(COMPILE) requirements/build.in -o requirements/build.txt
	$(COMPILE) requirements/uv.in -o requirements/uv.txt

clean:
	rm -rf $(VENV) .venv-oldest .venv-peers .venv-plugins .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist build
