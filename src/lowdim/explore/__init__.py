"""Questions to a map: its regions and their names, what it follows, how two maps differ."""
