"""Methods that learn a map or prototypes: networks, metrics, self-organizing maps."""
