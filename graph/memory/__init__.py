"""Memory: which buffer a value lies in, which part of it a view shows, and which node must wait for which."""
