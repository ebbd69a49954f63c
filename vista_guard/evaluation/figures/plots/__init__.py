"""Figures as SVG and PNG. Readable without colour: hatches, markers and line styles tell things apart."""
