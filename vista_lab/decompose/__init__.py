"""Decompose: exemplars, rewards, training and quality of decompositions, as in DAD (Magomere et al.)."""

from vista_lab.registry import Additions, Command

ADDS = Additions(
    commands=(
        Command(
            "decompose exemplars",
            "vista_lab.decompose.commands.exemplars:exemplars",
            "Ask a teacher model to split the sentences of logs into claims, as training data for a decomposer.",
        ),
        Command(
            "decompose rewards",
            "vista_lab.decompose.commands.rewards:rewards",
            "Score a decomposer's completions: format, verifier, checklist, their sum, and advantages within groups.",
        ),
        Command(
            "decompose train",
            "vista_lab.decompose.commands.train:train",
            "Train a decomposer: sft on a teacher's exemplars, then grpo against your verifier.",
        ),
        Command(
            "decompose quality",
            "vista_lab.decompose.commands.quality:quality",
            "Measure how well runs split responses into claims, on the sentences that all of them have.",
        ),
    ),
    forms="vista_lab.decompose",
    tables={"dad": "vista_lab.decompose.tables:TABLES"},
)
