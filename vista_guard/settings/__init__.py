"""What a guard is made from: arguments over environment over a TOML or YAML file. Builds nothing."""
