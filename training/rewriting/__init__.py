"""Groups of twins for the shipped verifier's training: a carrier's claims, right and wrong, by the rules of `vista_lab`.

`claims` writes them, `facts`, `mention`, `mates` and `vague` make wrong ones, `layout` frames them, `build` puts groups together.
"""
