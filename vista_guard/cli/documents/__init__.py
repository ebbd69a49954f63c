"""`vista-guard documents`: what turns without documents of their own are verified against."""
