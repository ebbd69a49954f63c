"""`vista-guard replay --against`: two policies over one log."""
