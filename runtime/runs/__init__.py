"""Whole training runs: one config, its processes, and the loop that goes on after any of them was killed."""
