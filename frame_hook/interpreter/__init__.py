"""The loop that runs instructions on symbols, and the tables that say how."""
