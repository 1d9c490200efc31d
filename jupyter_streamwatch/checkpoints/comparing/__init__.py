"""Whether a changed query fits a checkpoint."""
