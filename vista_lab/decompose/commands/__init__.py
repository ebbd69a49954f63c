"""`vista-guard decompose`: exemplars to train a decomposer on, rewards of its completions, quality of decompositions.

`exemplars` asks a teacher about the sentences of logs, `rewards` scores completions term by term, `quality` measures the claims
of runs, with people's marks and a judge's. `decompose show` is the guard's.
"""
