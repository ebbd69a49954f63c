"""`vista-guard reports`, `db` and `forget`: what is kept of turns, exported, brought up to date and deleted."""
