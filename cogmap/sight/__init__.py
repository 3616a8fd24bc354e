"""Pictures as states: what is seen now and was seen before, and what was done in between."""
