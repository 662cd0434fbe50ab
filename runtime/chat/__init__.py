"""Conversations as messages and as tokens: neither HTTP nor sessions are known here."""
