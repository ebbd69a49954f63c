"""`vista-guard eval`, and what every long run needs: to be stopped."""
