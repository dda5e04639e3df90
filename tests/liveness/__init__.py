"""The liveness test: no pop stays parked while there is something for it."""
