"""Real Spark runs with one injected fault each, and healthy ones: what the first hint must be."""
