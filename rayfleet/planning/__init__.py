"""The nouns that all controllers share: actions with reasons, plans, conditions, back-off. Pure; knows nothing of Ray."""
