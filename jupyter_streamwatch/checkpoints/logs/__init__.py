"""What the files of a checkpoint say: offsets, commits, logs of sources and sinks, the state's schema and files."""
