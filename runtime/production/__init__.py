"""Production: groups of conversations, kept going while weights change, from their numbers to training samples."""
