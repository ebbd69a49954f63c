"""The settings of a guard: arguments override the environment, which overrides a TOML or YAML file.

`sources` reads them (`Settings.load`), `model` has the options of chat models and verifiers. Nothing is built here:
`vista_guard.assembly` turns settings into objects.
"""
