"""What a query is: read from its plan, in classic mode or as Connect prints it, and from the call that starts it."""
