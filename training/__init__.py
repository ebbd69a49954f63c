"""How the shipped weights are made: data, the recipe of a run, calibration, measurements. Not in the wheel."""
