"""The main job: rollout workers and a trainer, agents with live sessions, weights swapped under them."""
