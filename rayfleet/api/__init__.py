"""The words users write, and their meaning: types, names, validation. Pure; imports nothing of the project."""
