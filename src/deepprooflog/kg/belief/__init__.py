"""The prior: an embedding that is trained, calibrated and believed."""
