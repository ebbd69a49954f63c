# Every development figure of the documentation, for the weights that are there, one after the other into one folder:
#   make -f training/Makefile figures DATA=path/to/data [LIMIT=20]
# A figure that is there is not measured again, so a run that was stopped goes on; `-k` goes on after a figure that fails. The folder is
# named after the weights. After a change of code alone: another folder (FIGURES=…), or delete the files. Test files and the sealed half of
# the challenge are never opened here. LIMIT: few rows of the large sets, to see that everything works. BESIDE="1.1.1=old/verifier.onnx": more
# columns for verifiers.md. Extras: dev, bench; torch is not needed.
WEIGHTS := weights/vista_guard_weights
ifndef FIGURES
FIGURES := build/figures/$(shell sed -n 's/.*"version": "\(.*\)".*/\1/p' $(WEIGHTS)/judge.json)-$(firstword $(shell cksum $(WEIGHTS)/judge.json))$(if $(LIMIT),-limit$(LIMIT))
endif
LIMITED := $(if $(LIMIT),--limit $(LIMIT))
SUITES := $(PYTHON) -m training.suites
# Whole when it has its name: what is measured goes to NAME.part first.
KEEP = > $@.part && mv $@.part $@

# training/README.md says where each file's figures are told. Those of TIMED need a quiet machine; load and hostile take 25 minutes.
JUDGED := halving.md claims.md challenge.txt presets.md remarks.md summaries.md cascade.md turn-risk.txt verifiers.md public.md
TIMED := speed.txt streams.txt load.md hostile.md
.PHONY: figures figures-judged figures-timed
.NOTPARALLEL:

figures: figures-judged figures-timed
figures-judged: $(JUDGED:%=$(FIGURES)/%)
figures-timed: $(TIMED:%=$(FIGURES)/%)

$(FIGURES):
	mkdir -p $@

$(FIGURES)/halving.md: | $(FIGURES)
	$(PYTHON) -m training.halving --weights $(WEIGHTS) $(KEEP)
$(FIGURES)/claims.md: | $(FIGURES)
	$(PYTHON) -m training.decomposition --data $(DATA) $(KEEP)
$(FIGURES)/challenge.txt: | $(FIGURES)
	$(SUITES).challenge $(if $(LIMIT),--limit 2) $(KEEP)
$(FIGURES)/twins.jsonl: | $(FIGURES)
	$(PYTHON) -m training.turn_risk --data $(DATA) --twins $@.part && mv $@.part $@
$(FIGURES)/presets.md: | $(FIGURES)/twins.jsonl
	$(SUITES).faithful --data $(DATA) --twins $(FIGURES)/twins.jsonl $(LIMITED) $(KEEP)
$(FIGURES)/remarks.md: | $(FIGURES)
	$(SUITES).remarks --data $(DATA) $(LIMITED) $(KEEP)
$(FIGURES)/summaries.md: | $(FIGURES)
	$(SUITES).summaries --data $(DATA) $(LIMITED) $(KEEP)
$(FIGURES)/cascade.md: | $(FIGURES)
	$(PYTHON) -m training.cascade --data $(DATA) $(KEEP)
$(FIGURES)/turn-risk.txt: | $(FIGURES)
	$(PYTHON) -m training.turn_risk --data $(DATA) --measure --work $(FIGURES)/turn_risk $(LIMITED) $(KEEP)
$(FIGURES)/verifiers.md: | $(FIGURES)
	$(PYTHON) -m training.compare --data $(DATA) --challenge vista_lab/policies/pairs \
	  $(BESIDE) this=$(WEIGHTS)/verifier.onnx $(if $(LIMIT),--only challenge) $(KEEP)
$(FIGURES)/public.md: | $(FIGURES)
	$(PYTHON) -m training.evaluate --data $(DATA) --split dev --limit $(or $(LIMIT),1500) $(KEEP)
$(FIGURES)/speed.txt: | $(FIGURES)
	COLUMNS=160 $(PYTHON) -m benchmarks --runs $(or $(LIMIT),60) --out $(FIGURES)/speed.json $(KEEP)
$(FIGURES)/streams.txt: | $(FIGURES)
	COLUMNS=160 $(PYTHON) -m benchmarks.streams --runs $(if $(LIMIT),2,10) $(KEEP)
LOAD = $(PYTHON) -m benchmarks.load $(if $(LIMIT),--streams 4 --seconds 2 --turns $(LIMIT) --sample 2)
$(FIGURES)/load.md: | $(FIGURES)
	$(LOAD) --limit-seconds 900 --json $(FIGURES)/load.json $(KEEP)
$(FIGURES)/hostile.md: | $(FIGURES)
	$(LOAD) --limit-seconds 330 --hostile 0.05 --json $(FIGURES)/hostile.json $(KEEP)
