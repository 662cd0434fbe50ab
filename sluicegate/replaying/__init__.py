"""Counterexamples on the real machines: a stage for them, the replay, its text, and cases for pytest."""
