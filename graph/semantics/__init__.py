"""What a graph means: its definition, the laws it keeps, and which effects of a node others can notice."""
