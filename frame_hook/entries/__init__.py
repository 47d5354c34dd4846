"""From the end of a trace to what the C layer runs."""
