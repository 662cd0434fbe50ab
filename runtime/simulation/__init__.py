"""A cluster in one process: the real workers, controllers and clients, over scripted engines, network and time."""
