"""Methods that learn a Mahalanobis metric from labels or pairs."""
