"""Worker processes: a rollout worker is one life of a replica, a trainer worker one life of the trainer."""
