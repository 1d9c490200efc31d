"""Real queries on a real Kafka broker and real Delta tables."""
