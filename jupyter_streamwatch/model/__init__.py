"""Plain data without Spark."""
