"""Where a checkpoint lies: a folder of this machine, a URL of fsspec, or what a Spark session reads."""
