"""Rivals: methods that learn a policy and a value towards goals from the same rows (Table 1A).

One file a method. Each reads as its paper and OGBench's implementation in JAX (MIT licence) do;
docs/rivals.md lists what differs.
"""
