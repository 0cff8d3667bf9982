"""CEL (https://github.com/google/cel-spec): its syntax, the types of what rules judge, and running it on a budget."""
