"""(cluster, group, configuration) -> manifest. One kind of child a file; pure, and what is given is never changed."""
