"""What ``load`` understands: event logs, driver logs, recordings, and progress in any notation."""
