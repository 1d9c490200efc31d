"""All that talks to Spark. Private names of Spark are used in this room (and in the guard), each with a fallback."""
