"""Published data sets by name, in their publishers' own files.

`registry` lists them, `opening` finds or downloads their files, `sets/` has a loader for each.
"""
