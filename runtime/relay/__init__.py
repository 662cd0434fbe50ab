"""Servers that are somebody else's, behind gates and sessions: called as they are, loaded by whoever trains."""
