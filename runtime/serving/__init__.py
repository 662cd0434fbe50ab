"""The session server: the HTTP that agents speak, in front of gates, sessions and traces."""
