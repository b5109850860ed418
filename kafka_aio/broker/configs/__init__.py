"""Options of topics, groups and nodes: what there is, what is set, how it is changed. Pure."""
