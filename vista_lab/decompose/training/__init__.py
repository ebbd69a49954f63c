"""Your own decomposer: exemplars of a teacher's decompositions, and completions scored by their rewards (DAD, §3.2, §3.3).

`exemplars` asks a teacher about the sentences of logs, `completions` scores anyone's answers term by term. `train` trains by a
recipe of `recipes`, with `policy` (the only module that loads torch), `inputs` and `rollouts`; `plan` estimates its cost.
"""
