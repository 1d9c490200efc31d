"""The static picture: the same figure models drawn by one small writer, without a browser."""
