"""A session as it is watched: its events become histories, and Spark is asked what no event tells."""
