"""Methods that fit distances on the map to dissimilarities: MDS and its relatives."""
