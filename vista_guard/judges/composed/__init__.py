"""Judges around other judges.

`stored` caches, records and replays answers; `cascade` asks a second judge where the first is unsure; `ensemble` lets several
vote, and has the shared helpers.
"""
