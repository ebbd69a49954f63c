"""`vista-guard verifiers`, and the part of `vista-guard calibrate` that is about them."""
