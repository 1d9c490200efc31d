"""Real queries that really fail: is the kind of failure right, and does the cure let the query go on?"""
