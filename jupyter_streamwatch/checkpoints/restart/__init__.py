"""What the next start of a query on a checkpoint does."""
