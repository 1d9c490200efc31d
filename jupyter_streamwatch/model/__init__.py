"""What is known of queries, as plain data: progress, batches, runs, facts. Knows neither Spark nor any view."""
