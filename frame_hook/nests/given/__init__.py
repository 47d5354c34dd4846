"""What a loop is given from outside, guarded, and the arrays and lists that it uses."""
