"""Instructions over numbers: conversions, operators and functions of them."""
