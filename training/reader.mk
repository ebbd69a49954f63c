# The reader: the careful verifier, adapters on all-mpnet-base-v2. Short pairs first, then everything; each step goes on where it stopped.
#   make -f training/Makefile reader-base reader-short          the first stage, from the base
#   make -f training/Makefile reader-all ADAPTER=training/run/NAME.pt      the second, from a milestone
#   make -f training/Makefile reader-milestone NAME=NAME STAGE=all
READER ?= build/reader
READER_BASE = $(READER)/base/all-mpnet-base-v2
# Rate and size as measured in docs/design/reader.md. PLANNED: pairs that the rate decays over.
READER_TRAIN = VISTA_BASE=$(READER_BASE) $(PYTHON) -m vista_lab.training.train --lora 16 --lora-alpha 32 --freeze 2 --lr 3e-4 --head 1.3 \
  --weight-decay 0 --tokens 2048 --max-length 192 --ranking 0.2 --max-minutes 1000000 --resume
ADAPTER ?=
PLANNED ?= 150000
STAGE ?= all
.PHONY: reader-base reader-short reader-all reader-near reader-milestone reader-curve

reader-base: $(READER_BASE)/config.json

$(READER_BASE)/config.json:
	$(PYTHON) -m training.base --out $(READER)/base

$(READER)/data/labelled.jsonl $(READER)/data/replay.jsonl $(READER)/data/dialogue.jsonl: $(READER)/data/%.jsonl:
	mkdir -p $(@D)
	$(PYTHON) -m training.mixes --data $(DATA) --mix $* --scale $(or $(SCALE_$*),1) --seed 303 --out $@

SCALE_replay = 0.3
SCALE_dialogue = 0.6

# Pairs of at most 64 words, of every source; a step holds twice as many of them.
$(READER)/data/short.jsonl:
	mkdir -p $(@D)
	for mix in labelled:3 replay:0.15 dialogue:0.6; do set -e; IFS=: read name scale <<< "$$mix"; \
	  $(PYTHON) -m training.mixes --data $(DATA) --mix $$name --scale $$scale --longest 64 --seed 311 --out $(@D)/short-$$name.jsonl; done
	cat $(@D)/short-*.jsonl > $@

reader-short: $(READER_BASE)/config.json $(READER)/data/short.jsonl
	$(READER_TRAIN) --pairs $(READER)/data/short.jsonl --out $(READER)/short --planned $(PLANNED) $(if $(ADAPTER),--adapter $(ADAPTER))

reader-all: $(READER_BASE)/config.json $(READER)/data/labelled.jsonl $(READER)/data/replay.jsonl $(READER)/data/dialogue.jsonl
	$(READER_TRAIN) --pairs $(filter %.jsonl,$^) --out $(READER)/all --planned $(PLANNED) $(if $(ADAPTER),--adapter $(ADAPTER))

# Long texts as the judge gives them to the reader. It runs in the package's environment: it chooses evidence with the shipped embedder.
$(READER)/data/near.jsonl: $(READER)/data/labelled.jsonl $(READER)/data/dialogue.jsonl
	.venv/bin/python -m training.nearest --pairs $^ --out $@

reader-near: $(READER_BASE)/config.json $(READER)/data/near.jsonl $(READER)/data/short.jsonl
	$(READER_TRAIN) --pairs $(filter %.jsonl,$^) --out $(READER)/near --planned $(PLANNED) $(if $(ADAPTER),--adapter $(ADAPTER))

# What another machine goes on from: 7 MB. The last two are kept in training/run.
reader-milestone:
	mkdir -p training/run
	$(PYTHON) -m training.snapshot --run $(READER)/$(STAGE) --milestone training/run/$(NAME).pt

reader-curve:
	VISTA_BASE=$(READER_BASE) $(PYTHON) -m training.curve --run $(READER)/$(STAGE) --data $(DATA)
