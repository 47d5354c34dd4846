"""What was captured, as users see it: graphs as text and pictures, a few words, reports."""
