"""The controller: it publishes versions, converges gates to them, and keeps the cohort."""
